/*
 * Which parameters the contents of buffers and expected results depend on. What depends on none is
 * the same for all variants of a problem; the rest is made once for each combination of these
 * parameters' values. Scratch buffers do not count, because each variant has its own.
 */
#ifndef AUTOTUNE_DEPENDENCIES_H
#define AUTOTUNE_DEPENDENCIES_H

#include "template/template.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether one of the expressions names `name`; each may be NULL. */
bool any_depends(struct expression *const *expressions, size_t count, const char *name);
bool fill_depends(const struct fill *fill, const char *name);

/* Whether the value of `name` reaches the compiler: by `define`, options, max_registers or features. */
bool is_compiled_in(const struct template *template, const char *name);

/* Whether a buffer's type, length or contents depend on `parameter`, directly or through the
 * buffers that fill it. */
bool buffer_depends_on(const struct template *template, size_t buffer, const char *parameter);

/* The same for an expected result. */
bool expectation_depends_on(const struct template *template, size_t expectation,
                            const char *parameter);

/* Whether any buffer or expected result does. */
bool contents_depend_on(const struct template *template, const char *parameter);

/* Whether a result is judged differently for another value of `parameter`: a buffer, an expected
 * result, a tolerance or a verifier depends on it. */
bool verdict_depends_on(const struct template *template, const char *parameter);

/* Whether the buffer, or the expected result, depends on any parameter. */
bool buffer_is_dependent(const struct template *template, size_t buffer);
bool expectation_is_dependent(const struct template *template, size_t expectation);

/* Whether a tolerance of the expectation, or the verifier, depends on any parameter. */
bool tolerance_is_dependent(const struct template *template, const struct expectation *expectation);
bool verifier_is_dependent(const struct template *template, size_t verifier);

#endif
