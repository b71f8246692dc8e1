/*
 * The values of Python expressions without unknown names, such as "[2**i for i in range(4)]": how
 * other tuners' files list a parameter's values.
 */
#ifndef AUTOTUNE_PYTHON_VALUE_H
#define AUTOTUNE_PYTHON_VALUE_H

#include "base/error.h"
#include "exchange/python.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PYTHON_ITEM_LIMIT = 65536 }; /* of all lists that an expression makes */

enum python_value_kind { PYTHON_IS_INTEGER, PYTHON_IS_REAL, PYTHON_IS_STRING, PYTHON_IS_LIST };

/* True and False are the integers 1 and 0, which they equal in Python. */
struct python_value {
    enum python_value_kind kind;
    int64_t integer;
    double real;
    char *string;
    struct python_value *items;
    size_t count;
};

/* Evaluates `node`. Returns 0, or ERROR_CONFIG without a place, with the text of the part that
 * cannot be evaluated. Release `value` in any case. */
int python_evaluate(const struct python_node *node, struct python_value *value,
                    struct error *error);

/* The same for a text. */
int python_evaluate_text(const char *text, struct python_value *value, struct error *error);

/* As Python's == has it: 1 and 1.0 are equal. A list equals nothing. */
bool python_value_equal(const struct python_value *a, const struct python_value *b);

void python_value_release(struct python_value *value);

#endif
