/*
 * The kernels of a source that a variant, or the helpers, do not launch. They need not be compiled,
 * which takes most of a variant's compilation in a source with a reference and several kernels.
 */
#ifndef AUTOTUNE_UNLAUNCHED_H
#define AUTOTUNE_UNLAUNCHED_H

#include "template/name_list.h"
#include "template/template.h"
#include "template/value.h"

/*
 * Entries of helpers (helpers.h), and of launches whose `when` is false, unless something else of
 * the variant launches them. A `when` that needs more than what the compiler gets may be true:
 * variants that differ only in that share a cubin. The list is empty if variables of the source are
 * buffers, since the compiler removes those that no kernel uses, and lacks names that are in a
 * preprocessing directive. Free its items.
 */
struct names unlaunched_by_variant(const struct template *template,
                                   const struct bindings *parameters,
                                   const struct bindings *problem);

/* Entries of launches that no helper launches, too, unless they are C++ names: the first compilation
 * of a run shows whether these exist. */
struct names unlaunched_by_helpers(const struct template *template);

#endif
