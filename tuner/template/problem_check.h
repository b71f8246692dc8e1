/*
 * Evaluates what depends on the problem and the device alone, before anything is compiled: lengths
 * and contents of buffers, tolerances and the launches of references. A problem for which one of
 * these fails, for example a negative length, has no valid variant.
 */
#ifndef AUTOTUNE_PROBLEM_CHECK_H
#define AUTOTUNE_PROBLEM_CHECK_H

#include "base/error.h"
#include "template/template.h"
#include "template/value.h"

/* `fixed` binds problem values and device attributes. Returns 0, or ERROR_CONFIG for the first
 * expression that fails. */
int problem_check(const struct template *template, const struct bindings *fixed,
                  struct error *error);

#endif
