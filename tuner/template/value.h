/*
 * Named values: of parameters, problems and device attributes; and expressions (base/expression.h) whose names
 * are looked up among them. base/value.h has values without names.
 */
#ifndef AUTOTUNE_VALUE_H
#define AUTOTUNE_VALUE_H

#include "base/error.h"
#include "base/expression.h"
#include "base/value.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct binding {
    char *name;         /* owned */
    struct value value; /* its word, if any, is owned too */
};

/*
 * Named values in order: parameters of a variant, values of a problem, attributes of a device.
 * Zeroed is empty. Lookup is linear; the lists are short.
 */
struct bindings {
    struct binding *items;
    size_t count;
};

/* Sets `name`, adding it at the end if it is new. Copies the name and a word. */
void bindings_set(struct bindings *bindings, const char *name, struct value value);

/* The value of `name`, borrowed until the next change; NULL if there is none. */
const struct value *bindings_find(const struct bindings *bindings, const char *name);

void bindings_copy(struct bindings *to, const struct bindings *from); /* `to` is released first */
void bindings_append(struct bindings *to, const struct bindings *from);
bool bindings_equal(const struct bindings *a, const struct bindings *b); /* the same order, too */
bool bindings_match(const struct bindings *a, const struct bindings *b); /* in any order */
/* bindings_match() with value_alike() */
bool bindings_alike(const struct bindings *a, const struct bindings *b);
void bindings_release(struct bindings *bindings); /* leaves it empty */

/* "block_size=256 num_load=4 ratio=3.0", different for different bindings; a new string. */
char *bindings_text(const struct bindings *bindings);

/* The text of the same object as bindings_to_json() makes, a new string. */
char *bindings_json_text(const struct bindings *bindings);

/* A JSON object with the names in order, a new reference; and back (adds to `bindings`).
 * bindings_from_json returns 0 or ERROR_RECORD if a member is not a number, string or boolean. */
json_t *bindings_to_json(const struct bindings *bindings);
int bindings_from_json(struct bindings *bindings, const json_t *object, struct error *error);

/* --- expressions --- */

/* Where names are looked up: this list, then the outer ones. */
struct scope {
    const struct bindings *bindings;
    const struct scope *outer;
};

/* The value of `name` in the innermost list that has it; NULL if none does. */
const struct value *scope_find(const struct scope *scope, const char *name);

/* As expression_boolean_of(). */
int expression_boolean(const struct expression *expression, const struct scope *scope,
                       bool *boolean, struct error *error);

/* Evaluations in one scope, of which the first failure counts: after it, these functions do nothing.
 * They yield `otherwise` for a failure, and for an expression that is NULL. A word may belong to the
 * scope's bindings; a real that is whole counts as an integer. */
struct evaluation {
    const struct scope *scope;
    struct error *error;
    int status;
};

int64_t evaluate_integer(struct evaluation *evaluation, const struct expression *expression,
                         int64_t otherwise);
double evaluate_real(struct evaluation *evaluation, const struct expression *expression,
                     double otherwise);
bool evaluate_boolean(struct evaluation *evaluation, const struct expression *expression,
                      bool otherwise);
struct value evaluate_value(struct evaluation *evaluation, const struct expression *expression,
                            struct value otherwise);

/* Fails because a value cannot be used: ERROR_CONFIG at the expression's place, with its text, the reason
 * and the values of its names, all of which must have one. */
void evaluation_refuse(struct evaluation *evaluation, const struct expression *expression,
                       const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
