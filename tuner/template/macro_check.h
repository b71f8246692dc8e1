/*
 * Finds parameters that cannot change anything because the source does not know them. A parameter
 * reaches the compiler as a macro; if neither the source nor its headers name that macro, for
 * example because it is misspelt, all its values give the same kernel.
 */
#ifndef AUTOTUNE_MACRO_CHECK_H
#define AUTOTUNE_MACRO_CHECK_H

#include "base/error.h"
#include "template/template.h"

/*
 * Returns 0, or ERROR_CONFIG at the line of the first parameter whose macro neither the source nor
 * its headers nor the compiler options name. A parameter that is a word may instead occur in the
 * template's expressions, where it can choose a launch or a type. Headers that cannot be read count
 * as empty.
 */
int macro_check(const struct template *template, struct error *error);

#endif
