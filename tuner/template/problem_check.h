/*
 * Checks what depends only on the problem and the device, before anything is compiled: lengths and
 * contents of buffers with their files, tolerances, the launches of helpers, and the types of
 * arguments. A problem for which one of these fails, for example a length of 0, has no valid
 * variant. What also depends on parameters is checked for each variant.
 */
#ifndef AUTOTUNE_PROBLEM_CHECK_H
#define AUTOTUNE_PROBLEM_CHECK_H

#include "base/error.h"
#include "template/template.h"
#include "template/value.h"

/* `fixed` binds problem values and device attributes. Returns 0, or ERROR_CONFIG at the
 * template's line for the first that fails. */
int problem_check(const struct template *template, const struct bindings *fixed,
                  struct error *error);

/* Checks the rest; `scope` binds parameters, problem values and device attributes. */
int problem_check_variant(const struct template *template, const struct scope *scope,
                          struct error *error);

#endif
