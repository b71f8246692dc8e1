/*
 * Compares the types of a template's arguments with those that the source declares
 * (source_signature.h). What is compiled does not tell them: an int and a float have the same size.
 */
#ifndef AUTOTUNE_ARGUMENT_TYPES_H
#define AUTOTUNE_ARGUMENT_TYPES_H

#include "base/error.h"
#include "template/expression.h"
#include "template/template.h"

/*
 * Returns 0, or ERROR_CONFIG at the line of 'arguments' for the first argument, of a launch or a
 * reference, that cannot be meant: a number for a pointer, an integer for a floating-point number, a
 * buffer of double for a float *. Allows what a kernel may do on purpose: a buffer of bytes as
 * another type, another signedness, void *. `scope` binds problem values; an argument whose type
 * depends on more than those is not checked.
 */
int argument_types_check(const struct template *template, const struct scope *scope,
                         struct error *error);

/* The same for one launch or helper that was compiled: `scope` binds everything, and `symbol`, the mangled name
 * of its kernel, says what the parameters of a C++ template are. */
int argument_types_check_launch(const struct template *template, const struct launch *launch,
                                const char *symbol, const struct scope *scope, struct error *error);

#endif
