/*
 * Expressions of sweep and template files: Lua's operators over named values and a few functions,
 * and nothing else. A text is checked token by token before Lua sees it (no assignments, calls of
 * methods, tables, strings with escapes, or keywords other than and, or, not, true, false, nil),
 * runs without any library and under a limit of instructions and memory, so that a file from a
 * stranger can neither reach the system nor loop nor eat memory.
 */
#ifndef AUTOTUNE_EXPRESSION_H
#define AUTOTUNE_EXPRESSION_H

#include "base/error.h"
#include "template/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct evaluator; /* a Lua state; one thread at a time */
struct expression;

struct evaluator *evaluator_new(void);
void evaluator_free(struct evaluator *evaluator); /* after its expressions */

/* Compiles `text`; `file` and `line` are for messages, `file` is borrowed. Returns 0 or
 * ERROR_CONFIG. */
int expression_new(struct expression **expression, struct evaluator *evaluator, const char *text,
                   const char *file, int line, struct error *error);
void expression_free(struct expression *expression); /* NULL is allowed */

const char *expression_text(const struct expression *expression);

/* The names it uses, each once; and whether it uses `name`. */
size_t expression_name_count(const struct expression *expression);
const char *expression_name(const struct expression *expression, size_t index);
bool expression_uses(const struct expression *expression, const char *name);

/* Where names are looked up: this list, then the outer ones. */
struct scope {
    const struct bindings *bindings;
    const struct scope *outer;
};

/* ERROR_CONFIG, with the nearest known name, for the first name that is not among `known` (ended by
 * NULL). */
int expression_check_names(const struct expression *expression, const char *const *known,
                           struct error *error);

/*
 * Evaluates. `*value`'s word is good until the next evaluation. Returns 0, or ERROR_CONFIG at the
 * expression's place: a name without a value, an operation on the wrong types, a limit passed, no
 * value.
 */
int expression_value(const struct expression *expression, const struct scope *scope,
                     struct value *value, struct error *error);

/* The same for one kind of value. A real that is whole counts as an integer; true and false, and
 * the words yes and no, are booleans. */
int expression_integer(const struct expression *expression, const struct scope *scope,
                       int64_t *integer, struct error *error);
int expression_real(const struct expression *expression, const struct scope *scope, double *real,
                    struct error *error);
int expression_boolean(const struct expression *expression, const struct scope *scope,
                       bool *boolean, struct error *error);

/*
 * The fast way, for enumerating: `values[i]` is the value of expression_name(i). No look-ups.
 */
int expression_boolean_of(const struct expression *expression, const struct value *const *values,
                          bool *boolean, struct error *error);

#endif
