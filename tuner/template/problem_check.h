/*
 * What is checked before anything is compiled: that the source knows the parameters, that lengths,
 * contents and files of buffers, tolerances and the launches of helpers make sense for a problem, and that
 * arguments have the types that the source declares (source_signature.h), which what is compiled does not
 * tell: an int and a float have the same size.
 */
#ifndef AUTOTUNE_PROBLEM_CHECK_H
#define AUTOTUNE_PROBLEM_CHECK_H

#include "base/error.h"
#include "template/template.h"
#include "template/value.h"

/*
 * A parameter reaches the compiler as a macro. If neither the source nor its headers nor the compiler
 * options name that macro, for example because it is misspelt, all its values give the same kernel: returns
 * ERROR_CONFIG at its line. A parameter that is a word may instead occur in the template's expressions,
 * where it can choose a launch or a type.
 */
int macro_check(const struct template *template, struct error *error);

/*
 * `fixed` binds problem values and device attributes. Returns 0, or ERROR_CONFIG at the template's line for
 * the first that fails, for example a length of 0: such a problem has no valid variant.
 *
 * Refuses arguments that cannot be meant: a number for a pointer, an integer for a floating-point number, a
 * buffer of double for a float *. Allows what a kernel may do on purpose: a buffer of bytes as another type,
 * another signedness, void *.
 */
int problem_check(const struct template *template, const struct bindings *fixed,
                  struct error *error);

/* Checks what also depends on parameters; `scope` binds parameters, problem values and device
 * attributes. */
int problem_check_variant(const struct template *template, const struct scope *scope,
                          struct error *error);

/* Checks the types of the arguments of one launch or helper that was compiled: `scope` binds everything, and
 * `symbol`, the mangled name of its kernel, says what the parameters of a C++ template are. */
int argument_types_check_launch(const struct template *template, const struct launch *launch,
                                const char *symbol, const struct scope *scope, struct error *error);

#endif
