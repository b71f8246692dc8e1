/*
 * Compiles the text of an expression to steps. kernel_templates/README.md describes the grammar and
 * the operators.
 */
#ifndef AUTOTUNE_EXPRESSION_PARSER_H
#define AUTOTUNE_EXPRESSION_PARSER_H

#include "base/error.h"
#include "template/expression_steps.h"

#include <stddef.h>

enum {
    EXPRESSION_TEXT_LIMIT = 65536, /* bytes */
    EXPRESSION_NAME_LIMIT = 32,    /* different names */
    EXPRESSION_NAME_BYTES = 64,    /* of one name, with the NUL */
    EXPRESSION_DEPTH_LIMIT =
        64, /* of parentheses, calls, signs, powers and choices in each other */
};

/* Each name once, in the order of their first use. */
struct expression_names {
    char **items;
    size_t count;
};

/*
 * Fills `names` and `steps`, which must be empty and borrow `text`. Returns 0, or ERROR_CONFIG
 * without a place; the message says what is wrong and how to write it. The caller releases both in
 * any case.
 */
int expression_parse(const char *text, struct expression_names *names, struct steps *steps,
                     struct error *error);

#endif
