/*
 * Shared by the files that load a template: struct loader, made for one template_load()
 * (template_load.h), and the steps common to all sections. Every function that returns int
 * returns 0, or ERROR_CONFIG with the template's path and the line at fault; what was read until
 * then belongs to the template, whose release frees it.
 */
#ifndef AUTOTUNE_LOADER_H
#define AUTOTUNE_LOADER_H

#include "base/error.h"
#include "template/expression.h"
#include "template/ini_file.h"
#include "template/name_list.h"
#include "template/template.h"

#include <stdbool.h>
#include <stddef.h>

struct loader {
    struct template *template;
    struct error *error;
    struct names fixed;   /* problem values, device attributes: the same for all variants */
    struct names base;    /* parameters and fixed */
    struct names buffers; /* the buffers' names and `reference` */
    struct names grids;   /* base and NAME_grid, NAME_block of all launches */
    char **made;          /* names made here: NAME_grid, NAME_block */
    size_t made_count;
};

/* Sets the error at `line` and returns it; `format` has one %s, for `subject`. */
int loader_fail(const struct loader *loader, int line, const char *format, const char *subject);

/* The entry of a key, which counts as used; NULL if there is none. */
struct ini_entry *loader_get(struct loader *loader, const char *section, const char *key);

/* The same for a key that must be there; `line` is the section's. */
int loader_need(struct loader *loader, const char *section, int line, const char *key,
                struct ini_entry **entry);

/* Compiles `text` and checks that it names only what `known` has. On failure `*expression` is NULL
 * or, for an unknown name, the compiled expression: the caller keeps it either way. */
int loader_read_expression(struct loader *loader, const char *text, int line,
                           const struct names *known, struct expression **expression);

/* The same for the value of a key that may be missing, which leaves `*expression` as it is. */
int loader_read_key(struct loader *loader, const char *section, const char *key,
                    const struct names *known, struct expression **expression);

/* The same; a value that is one of `words` (ended by NULL) needs no quotes. */
int loader_read_word_key(struct loader *loader, const char *section, const char *key,
                         const char *const *words, const struct names *known,
                         struct expression **expression);

/* Reads a key whose value is yes or no; no if it is missing. */
int loader_read_yes(struct loader *loader, const char *section, const char *key, bool *yes);

/* Splits "word(a, b)" in place into its word, which stays at `text`, and `*inner`, what is between
 * the parentheses; false, with `text` as it was, if it has another shape. */
bool split_call(char *text, char **inner);

#endif
