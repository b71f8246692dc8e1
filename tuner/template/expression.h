/* Expressions (base/expression.h) whose names are looked up where they are evaluated. */
#ifndef AUTOTUNE_EXPRESSION_H
#define AUTOTUNE_EXPRESSION_H

#include "base/error.h"
#include "base/expression.h"
#include "template/value.h"

#include <stdbool.h>
#include <stdint.h>

/* Where names are looked up: this list, then the outer ones. */
struct scope {
    const struct bindings *bindings;
    const struct scope *outer;
};

/* The value of `name` in the innermost list that has it; NULL if none does. */
const struct value *scope_find(const struct scope *scope, const char *name);

/* As expression_value_of(); a word may belong to the scope's bindings. */
int expression_value(const struct expression *expression, const struct scope *scope,
                     struct value *value, struct error *error);

/* The same for one kind of value. A real that is whole counts as an integer; the words yes, no, true
 * and false count as conditions. */
int expression_integer(const struct expression *expression, const struct scope *scope,
                       int64_t *integer, struct error *error);
int expression_real(const struct expression *expression, const struct scope *scope, double *real,
                    struct error *error);
int expression_boolean(const struct expression *expression, const struct scope *scope,
                       bool *boolean, struct error *error);

/* Sets the error for a value that cannot be used: ERROR_CONFIG at the expression's place, with its
 * text, `reason` and the values of its names, all of which must have one. */
int expression_refuse(const struct expression *expression, const struct scope *scope,
                      const char *reason, struct error *error);

#endif
