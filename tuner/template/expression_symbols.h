/*
 * The symbols of expressions: a table of operators, and the letters of names. To add an
 * operator, add a line to the table in the .c, its operation to expression_steps.h, and both to
 * kernel_templates/README.md.
 */
#ifndef AUTOTUNE_EXPRESSION_SYMBOLS_H
#define AUTOTUNE_EXPRESSION_SYMBOLS_H

#include "template/expression_steps.h"

#include <stdbool.h>
#include <stddef.h>

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789_"

/*
 * An operator. The higher `left`, the more tightly it binds; if `right` is lower than `left`, a
 * chain is evaluated from right to left: 2^3^2 is 2^9.
 */
struct symbol {
    const char *text;
    enum operation operation;
    int left, right;
    const char *instead; /* NULL, or what to write for an operator of another language */
};

enum { LOWEST_PRIORITY = 0 };

/* The operator with one operand, or with two, that `text` begins with; NULL if there is none. */
const struct symbol *symbol_unary(const char *text);
const struct symbol *symbol_binary(const char *text);

/* The length of the name or number at `text`, 0 if there is none; capitals count, to refuse them. */
size_t symbol_name_length(const char *text);

#endif
