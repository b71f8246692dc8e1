/*
 * Numbers in expressions. Whole and real numbers are compared exactly, without rounding: 2^53 + 1
 * is greater than the real number 2^53, although it would be rounded to that.
 */
#ifndef AUTOTUNE_NUMBER_H
#define AUTOTUNE_NUMBER_H

#include "template/value.h"

#include <stdbool.h>
#include <stdint.h>

static inline bool number_is(const struct value *value)
{
    return value->kind == VALUE_INTEGER || value->kind == VALUE_REAL;
}

/* The number as a real one, rounded to the nearest. */
static inline double number_real(const struct value *number)
{
    return number->kind == VALUE_INTEGER ? (double)number->as.integer : number->as.real;
}

/* Whether `value` is a whole number that fits in 64 bits, possibly written as a real one (4.0);
 * sets `*integer` to it. */
bool number_whole(const struct value *value, int64_t *integer);

/* How two numbers compare; bits, so that they can form sets. */
enum order { ORDER_LESS = 1, ORDER_EQUAL = 2, ORDER_GREATER = 4, ORDER_NONE = 8 };

/* ORDER_NONE if one of them is not a number (NaN). */
enum order number_order(const struct value *left, const struct value *right);

#endif
