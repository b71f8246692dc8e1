#include "template/number.h"

#include <math.h>

/* 2^63: the least real number that is too large for 64 bits. */
#define INTEGER_LIMIT 0x1p63

bool number_whole(const struct value *value, int64_t *integer)
{
    if (value->kind == VALUE_INTEGER) {
        *integer = value->as.integer;
        return true;
    }
    if (value->kind != VALUE_REAL || value->as.real != floor(value->as.real) ||
        value->as.real < -INTEGER_LIMIT || value->as.real >= INTEGER_LIMIT)
        return false;
    *integer = (int64_t)value->as.real;
    return true;
}

static enum order order_integers(int64_t a, int64_t b)
{
    return a < b ? ORDER_LESS : a > b ? ORDER_GREATER : ORDER_EQUAL;
}

static enum order order_reals(double a, double b)
{
    return a < b                  ? ORDER_LESS
           : a > b                ? ORDER_GREATER
           : isnan(a) || isnan(b) ? ORDER_NONE
                                  : ORDER_EQUAL;
}

/* By the whole part of `b`, which has 64 bits, and then by what follows its point. */
static enum order order_mixed(int64_t a, double b)
{
    if (!(b >= -INTEGER_LIMIT && b < INTEGER_LIMIT))
        return order_reals(0, b);
    double whole = trunc(b);
    enum order order = order_integers(a, (int64_t)whole);
    return order == ORDER_EQUAL ? order_reals(whole, b) : order;
}

static enum order reversed(enum order order)
{
    return order == ORDER_LESS ? ORDER_GREATER : order == ORDER_GREATER ? ORDER_LESS : order;
}

enum order number_order(const struct value *left, const struct value *right)
{
    if (left->kind == right->kind)
        return left->kind == VALUE_INTEGER ? order_integers(left->as.integer, right->as.integer)
                                           : order_reals(left->as.real, right->as.real);
    return left->kind == VALUE_INTEGER ? order_mixed(left->as.integer, right->as.real)
                                       : reversed(order_mixed(right->as.integer, left->as.real));
}
