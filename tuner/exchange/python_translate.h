/*
 * Translates Python expressions to those of templates and sweeps (template/expression.h):
 *
 *     32 <= x * y <= 1024 and not pad      32 <= x * y and x * y <= 1024 and pad == 0
 *     x in (16, 32)                        x == 16 or x == 32
 *     a ** 2 if shared else b              shared != 0 ? a ^ 2 : b
 *
 * The result has the same value wherever Python has one of 64 bits. What cannot be said in our
 * expressions is refused.
 */
#ifndef AUTOTUNE_PYTHON_TRANSLATE_H
#define AUTOTUNE_PYTHON_TRANSLATE_H

#include "base/error.h"
#include "exchange/python_names.h"

/* Translates a condition, or any value. `*translated` is a new string, or NULL on failure. Returns
 * 0, or ERROR_CONFIG without a place, with the part that cannot be translated. */
int python_translate_condition(const char *text, const struct python_names *names,
                               char **translated, struct error *error);
int python_translate_value(const char *text, const struct python_names *names, char **translated,
                           struct error *error);

#endif
