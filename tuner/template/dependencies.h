/*
 * Which parameters the contents of buffers and expected results depend on. What depends on none is
 * the same for all variants of a problem; the rest is made once for each combination of these
 * parameters' values. Scratch buffers do not count, because each variant has its own.
 *
 * Bit i of these sets is template->parameters[i], of which there are at most 64.
 */
#ifndef AUTOTUNE_DEPENDENCIES_H
#define AUTOTUNE_DEPENDENCIES_H

#include "template/template.h"

#include <stdint.h>

/* Sets `depends` of buffers, expectations and verifiers, once everything else of the template is read. */
void dependencies_find(struct template *template);

/* The parameters that any buffer or expected result depends on. */
uint64_t contents_depend_on(const struct template *template);

/* The parameters for another value of which a result is judged differently: a buffer, an expected result, a
 * tolerance or a verifier depends on it. */
uint64_t verdict_depends_on(const struct template *template);

#endif
