/*
 * Lists of values as sweep files write them: `1, 2, 4`, `32..1024 step 32`, `32..1024 step *2`,
 * `2^20`, `lock, lock_free`; parts of a text; and lists of names.
 */
#ifndef AUTOTUNE_VALUE_LIST_H
#define AUTOTUNE_VALUE_LIST_H

#include "base/error.h"
#include "template/value.h"

#include <stdbool.h>
#include <stddef.h>

struct value_list {
    struct value *values;
    size_t count;
    char **words; /* what the values' words point to */
    size_t word_count;
};

/* Reads `text`. Returns 0, or ERROR_CONFIG at `file` and `line`: nothing between two commas, a
 * range that ends below its start or has more than 4096 values, a value given twice (64.0 is
 * 64). */
int value_list_parse(struct value_list *list, const char *text, const char *file, int line,
                     struct error *error);

/* Adds a value unless the list has it; returns the list's own. */
struct value value_list_add(struct value_list *list, struct value value);

void value_list_release(struct value_list *list);

/*
 * Splits `text` at `separator` outside of parentheses and quotes into parts without surrounding blanks,
 * which may be changed; an empty text gives no parts. free() of the array frees them, too.
 */
size_t text_split(const char *text, char separator, char ***parts);

/* Frees strings, each of which was allocated, and their array. */
void texts_free(char **texts, size_t count);

/* A growing list of borrowed names. Always ended by NULL, which `count` includes. An empty list is {0} and
 * has no items. free(items) releases it. */
struct names {
    const char **items;
    size_t count;
};

void names_add(struct names *names, const char *name);
void names_add_all(struct names *names, const char *const *more); /* `more` ends with NULL */

/* The place of `name` in `names`, ended by NULL; -1: it is not there, as in a NULL list. */
int names_index(const char *const *names, const char *name);
bool names_have(const char *const *names, const char *name);

#endif
