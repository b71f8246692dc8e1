/*
 * What expressions do with a value that is a number. Whole numbers and real numbers compare by what
 * they are worth, exactly: 2^53 + 1 is above the real number 2^53, though it rounds to it.
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

/* Whether `value` is a whole number of 64 bits, if only as a real one (4.0), which `*integer` then
 * is. */
bool number_whole(const struct value *value, int64_t *integer);

/* How one value stands to another: bits, for sets of them. */
enum order { ORDER_LESS = 1, ORDER_EQUAL = 2, ORDER_GREATER = 4, ORDER_NONE = 8 };

/* ORDER_NONE if one of them is not a number (NaN). */
enum order number_order(const struct value *left, const struct value *right);

#endif
