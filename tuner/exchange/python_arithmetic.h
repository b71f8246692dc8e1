/* What Python's operators do to values: for python_value.c. */
#ifndef AUTOTUNE_PYTHON_ARITHMETIC_H
#define AUTOTUNE_PYTHON_ARITHMETIC_H

#include "exchange/python_value.h"

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
