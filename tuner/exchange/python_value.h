/* Values of Python expressions, and what Python's operators do to them. */
#ifndef AUTOTUNE_PYTHON_VALUE_H
#define AUTOTUNE_PYTHON_VALUE_H

#include "exchange/python_node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* As Python's == has it: 1 and 1.0 are equal. A list equals nothing. */
bool python_value_equal(const struct python_value *a, const struct python_value *b);

void python_value_release(struct python_value *value);

struct python_value python_of_integer(int64_t integer);
struct python_value python_of_real(double real);
struct python_value python_value_copy(const struct python_value *value);

bool python_is_number(const struct python_value *value);
double python_number(const struct python_value *value); /* of a number */

/* As a condition: not 0, and not empty. */
bool python_is_true(const struct python_value *value);

/* Applies an operator to two numbers; false if the result is not finite or does not fit. */
bool python_compute(enum python_operation operation, const struct python_value *a,
                    const struct python_value *b, struct python_value *value);

/* Below 0, 0 or above 0; 2 for values that Python does not order. */
int python_order(const struct python_value *a, const struct python_value *b);

/* Whether a comparison holds; of IN and NOT_IN, `b` is a list. */
bool python_holds(enum python_operation operation, const struct python_value *a,
                  const struct python_value *b);

#endif
