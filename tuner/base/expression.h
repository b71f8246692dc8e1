/*
 * Expressions of sweeps, templates and covers: numbers, words, conditions, named values, operators and a
 * few functions; docs/expressions.md describes them.
 *
 *     expression_new(&expression, "block_size * num_load <= n", "sweep.ini", 7, &error);
 *     expression_boolean_of(expression, values, &holds, &error);
 *     expression_free(expression);
 *
 * Untrusted expressions are safe: they cannot reach the system or loop, and their length, depth and
 * number of names are limited. An expression never changes, so several threads may evaluate it at
 * the same time; evaluating allocates nothing. Results are the same in every locale. Errors give the
 * file, the line and what to write instead.
 *
 * libtuned contains this module: it never aborts or prints.
 */
#ifndef AUTOTUNE_BASE_EXPRESSION_H
#define AUTOTUNE_BASE_EXPRESSION_H

#include "base/error.h"
#include "base/value.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    EXPRESSION_TEXT_LIMIT = 65536, /* bytes */
    EXPRESSION_NAME_LIMIT = 32,    /* different names */
    EXPRESSION_NAME_BYTES = 64,    /* of one name, with the NUL */
    EXPRESSION_DEPTH_LIMIT =
        64, /* of parentheses, calls, signs, powers and choices in each other */
};

struct expression;

/* Compiles `text`; `file` and `line` are for messages, `file` is borrowed. Returns 0, ERROR_CONFIG, or
 * ERROR_MEMORY if memory runs out. */
int expression_new(struct expression **expression, const char *text, const char *file, int line,
                   struct error *error);
/* The same for a text that names expressions (template.h): `expanded` has them in place of their
 * names and is what is compiled; messages and expression_text() have `text`. */
int expression_new_expanded(struct expression **expression, const char *text, const char *expanded,
                            const char *file, int line, struct error *error);
/* The condition that `names`, at most EXPRESSION_NAME_LIMIT, have the values of one of `rows`, of which
 * there is at least one. A row may be longer. Words are borrowed; `text` is for messages. Returns 0 or
 * ERROR_MEMORY. */
int expression_new_rows(struct expression **expression, const char *text, char *const *names,
                        size_t name_count, struct value *const *rows, size_t row_count,
                        const char *file, int line, struct error *error);
void expression_free(struct expression *expression); /* NULL is allowed */

const char *expression_text(const struct expression *expression);
/* The text that is compiled: without names of expressions. */
const char *expression_expanded(const struct expression *expression);

/* The names it uses, each once; and whether it uses `name`. */
size_t expression_name_count(const struct expression *expression);
const char *expression_name(const struct expression *expression, size_t index);
bool expression_uses(const struct expression *expression, const char *name);

/* The conditions that `and` joins outside parentheses, as in `a and b`: new expressions, in a new array.
 * Returns their number; 0 if it is of another form, or if memory runs out. */
size_t expression_conditions(const struct expression *expression, struct expression ***conditions);

/* Whether `name` is a function, an operator or a condition, and so never a value's name. */
bool expression_reserves(const char *name);

/* Returns 0, or ERROR_CONFIG for the first name that is not among `known` (ended by NULL), with the
 * nearest known name. */
int expression_check_names(const struct expression *expression, const char *const *known,
                           struct error *error);

/*
 * Evaluates; `values[i]` is the value of expression_name(i), NULL if it has none. A word in `*value`
 * belongs to the expression or to `values`. Returns 0, or ERROR_CONFIG at the expression's place: a
 * name without a value, an operand of the wrong kind, a division by zero, a whole number that does not
 * fit in 64 bits.
 */
int expression_value_of(const struct expression *expression, const struct value *const *values,
                        struct value *value, struct error *error);

/* The same for a condition; the words yes, no, true and false count as conditions. */
int expression_boolean_of(const struct expression *expression, const struct value *const *values,
                          bool *boolean, struct error *error);

/* Sets the error for a value that cannot be used: ERROR_CONFIG at the expression's place, with its
 * text, `reason` and `values`, none of which is NULL. */
int expression_refuse_of(const struct expression *expression, const struct value *const *values,
                         const char *reason, struct error *error);

#endif
