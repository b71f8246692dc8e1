/*
 * The text of an expression: checked token by token before Lua sees it, so that nothing but
 * operators, numbers, words, names and the functions of expression_functions.h gets there; the names
 * that it uses; and what Lua is given instead of it.
 */
#ifndef AUTOTUNE_EXPRESSION_TEXT_H
#define AUTOTUNE_EXPRESSION_TEXT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { EXPRESSION_NAME_LIMIT = 32 }; /* different names in one */

/* The caller sets `text`, `file` and `line`; checking adds the names. */
struct expression_text {
    char *text;
    const char *file; /* borrowed; with `line` for messages */
    int line;
    char **names; /* each once, in the order of their first use */
    size_t name_count;
};

/* Checks the text and collects its names. Returns 0, or ERROR_CONFIG for one that is empty, too
 * long, too deeply nested, has too many names, or has a token that is not allowed; then the names so
 * far are there, for expression_text_release(). */
int expression_text_check(struct expression_text *source, struct error *error);

/* Whether `name` is among the names. */
bool expression_text_uses(const struct expression_text *source, const char *name);

/* As expression_check_names(). */
int expression_text_check_names(const struct expression_text *source, const char *const *known,
                                struct error *error);

/* A checked text as a chunk of Lua, "local a, b = ... return (TEXT)": the names become arguments, so
 * evaluating needs no look-up. A new string. */
char *expression_text_lua(const struct expression_text *source);

/* Frees text and names. */
void expression_text_release(struct expression_text *source);

#endif
