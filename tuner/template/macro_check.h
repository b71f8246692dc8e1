/*
 * Finds parameters that cannot change anything because the source does not know them. A parameter
 * reaches the compiler as a macro; if neither the source nor its headers name that macro, for
 * example because it is misspelt, all its values are the same kernel.
 */
#ifndef AUTOTUNE_MACRO_CHECK_H
#define AUTOTUNE_MACRO_CHECK_H

#include "base/error.h"
#include "template/template.h"

#include <stddef.h>

/* The next identifier from `text` on, outside comments and strings, with its length; NULL if there
 * is none. */
const char *macro_check_next_word(const char *text, size_t *length);

/*
 * Returns ERROR_CONFIG at the line of the first parameter whose macro is named nowhere: not in the
 * source, its headers or the compiler options, and, if it is a word, not in the template's
 * expressions either, in which it can choose a launch or a type. Headers that cannot be read count
 * as empty.
 */
int macro_check(const struct template *template, struct error *error);

#endif
