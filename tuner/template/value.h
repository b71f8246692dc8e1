/*
 * Values and named values: of parameters, problems, device attributes and expressions.
 */
#ifndef AUTOTUNE_VALUE_H
#define AUTOTUNE_VALUE_H

#include "base/error.h"
#include "base/literal.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum value_kind { VALUE_INTEGER, VALUE_REAL, VALUE_WORD, VALUE_BOOLEAN };

/* A word's text belongs to whoever made the value; struct bindings keeps copies of its own. */
struct value {
    enum value_kind kind;
    union {
        int64_t integer;
        double real;
        const char *word;
        bool boolean;
    } as;
};

struct value value_integer(int64_t integer);
struct value value_real(double real);
struct value value_word(const char *word);
struct value value_boolean(bool boolean);

/* Equal in kind and content; words by their letters. */
bool value_equal(struct value a, struct value b);

/* The same, but a whole number is alike a real one of the same size: 10000 and 1e4. A look-up takes them for
 * one problem; a compiler need not. */
bool value_alike(struct value a, struct value b);

/* "256", "0.5" (shortest that reads back the same), "last_block", "true". Returns `buffer`. */
#define VALUE_TEXT_BYTES (LITERAL_WORD_LETTERS + 1)
char *value_text(struct value value, char buffer[VALUE_TEXT_BYTES]);

/* The same, but a real number never looks like a whole one: 2.0 stays "2.0". */
char *value_exact_text(struct value value, char buffer[VALUE_TEXT_BYTES]);

/* Reads one literal (base/literal.h). `*value`'s word points to `text` itself. Returns 0, or
 * ERROR_CONFIG with a message that has no place. */
int value_parse(const char *text, struct value *value, struct error *error);

/* What was read from `text`, which becomes the value's word if it is one. */
struct value value_from_literal(const struct literal *literal, const char *text);

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

/* "block_size=256 num_load=4"; a new string. */
char *bindings_text(const struct bindings *bindings);

/* The text of the same object as bindings_to_json() makes, a new string. Usually made without the
 * object, in a tenth of the time. */
char *bindings_json_text(const struct bindings *bindings);

/* A JSON object with the names in order, a new reference; and back (adds to `bindings`).
 * bindings_from_json returns 0 or ERROR_RECORD if a member is not a number, string or boolean. */
json_t *bindings_to_json(const struct bindings *bindings);
int bindings_from_json(struct bindings *bindings, const json_t *object, struct error *error);

#endif
