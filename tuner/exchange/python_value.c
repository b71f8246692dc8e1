#include "exchange/python_value.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the value */
void python_value_release(struct python_value *value)
{
    for (size_t i = 0; i < value->count; i++)
        python_value_release(&value->items[i]);
    free(value->items);
    free(value->string);
    *value = (struct python_value){0};
}

struct python_value python_of_integer(int64_t integer)
{
    return (struct python_value){.kind = PYTHON_IS_INTEGER, .integer = integer};
}

struct python_value python_of_real(double real)
{
    return (struct python_value){.kind = PYTHON_IS_REAL, .real = real};
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the value */
struct python_value python_value_copy(const struct python_value *value)
{
    struct python_value made = *value;
    made.string = alloc_string(value->string);
    made.items = NULL;
    made.count = 0;
    for (size_t i = 0; i < value->count; i++)
        *ARRAY_APPEND(made.items, made.count) = python_value_copy(&value->items[i]);
    return made;
}

bool python_is_number(const struct python_value *value)
{
    return value->kind == PYTHON_IS_INTEGER || value->kind == PYTHON_IS_REAL;
}

double python_number(const struct python_value *value)
{
    return value->kind == PYTHON_IS_REAL ? value->real : (double)value->integer;
}

bool python_is_true(const struct python_value *value)
{
    switch (value->kind) {
    case PYTHON_IS_STRING:
        return value->string[0] != '\0';
    case PYTHON_IS_LIST:
        return value->count > 0;
    case PYTHON_IS_REAL:
        return fpclassify(value->real) != FP_ZERO;
    default:
        return value->integer != 0;
    }
}

static bool power(int64_t base, int64_t exponent, int64_t *result)
{
    *result = 1;
    if (exponent > 63 && base >= -1 && base <= 1)
        exponent = 62 + exponent % 2;
    for (int64_t i = 0; i < exponent; i++)
        if (i > 63 || __builtin_mul_overflow(*result, base, result))
            return false;
    return true;
}

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a ^ b) < 0);
}

/* Of whole numbers whose result is whole; false if it is not, or does not fit. */
static bool compute_integers(enum python_operation operation, int64_t a, int64_t b, int64_t *result)
{
    switch (operation) {
    case PYTHON_ADD:
        return !__builtin_add_overflow(a, b, result);
    case PYTHON_SUBTRACT:
        return !__builtin_sub_overflow(a, b, result);
    case PYTHON_MULTIPLY:
        return !__builtin_mul_overflow(a, b, result);
    case PYTHON_FLOOR_DIVIDE:
        *result = b == 0 || b == -1 ? 0 : floor_divide(a, b);
        return b != 0 && (b != -1 || !__builtin_sub_overflow(0, a, result));
    case PYTHON_MODULO:
        *result = b == 0 || b == -1 ? 0 : a - b * floor_divide(a, b);
        return b != 0;
    case PYTHON_POWER:
        return b >= 0 && power(a, b, result);
    case PYTHON_SHIFT_LEFT:
        return b >= 0 && b < 63 && !__builtin_mul_overflow(a, INT64_C(1) << b, result);
    case PYTHON_SHIFT_RIGHT:
        *result = b < 63 && b >= 0 ? a >> b : -(a < 0);
        return b >= 0;
    case PYTHON_BIT_AND:
        *result = a & b;
        return true;
    case PYTHON_BIT_OR:
        *result = a | b;
        return true;
    case PYTHON_BIT_XOR:
        *result = a ^ b;
        return true;
    default:
        return false;
    }
}

static bool compute_reals(enum python_operation operation, double a, double b, double *result)
{
    switch (operation) {
    case PYTHON_ADD:
        *result = a + b;
        break;
    case PYTHON_SUBTRACT:
        *result = a - b;
        break;
    case PYTHON_MULTIPLY:
        *result = a * b;
        break;
    case PYTHON_DIVIDE:
        *result = a / b;
        break;
    case PYTHON_FLOOR_DIVIDE:
        *result = floor(a / b);
        break;
    case PYTHON_MODULO:
        *result = a - b * floor(a / b);
        break;
    case PYTHON_POWER:
        *result = pow(a, b);
        break;
    default:
        return false;
    }
    return isfinite(*result);
}

/* Below 0, 0 or above 0; 2 for values that Python does not order. */
int python_order(const struct python_value *a, const struct python_value *b)
{
    if (a->kind == PYTHON_IS_INTEGER && b->kind == PYTHON_IS_INTEGER)
        return (a->integer > b->integer) - (a->integer < b->integer);
    if (python_is_number(a) && python_is_number(b))
        return (python_number(a) > python_number(b)) - (python_number(a) < python_number(b));
    if (a->kind == PYTHON_IS_STRING && b->kind == PYTHON_IS_STRING) {
        int sign = strcmp(a->string, b->string);
        return (sign > 0) - (sign < 0);
    }
    return 2;
}

static bool is_in(const struct python_value *item, const struct python_value *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (python_order(item, &list->items[i]) == 0)
            return true;
    return false;
}

bool python_value_equal(const struct python_value *a, const struct python_value *b)
{
    return python_order(a, b) == 0;
}

bool python_holds(enum python_operation operation, const struct python_value *a,
                  const struct python_value *b)
{
    int sign = python_order(a, b);
    switch (operation) {
    case PYTHON_IN:
        return is_in(a, b);
    case PYTHON_NOT_IN:
        return !is_in(a, b);
    case PYTHON_EQUAL:
        return sign == 0;
    case PYTHON_DIFFERENT:
        return sign != 0;
    case PYTHON_LESS:
        return sign < 0;
    case PYTHON_LESS_EQUAL:
        return sign <= 0;
    case PYTHON_GREATER:
        return sign > 0;
    default:
        return sign >= 0;
    }
}

bool python_compute(enum python_operation operation, const struct python_value *a,
                    const struct python_value *b, struct python_value *value)
{
    bool whole = a->kind == PYTHON_IS_INTEGER && b->kind == PYTHON_IS_INTEGER;
    bool real =
        operation == PYTHON_DIVIDE || (operation == PYTHON_POWER && whole && b->integer < 0);
    *value = whole && !real ? python_of_integer(0) : python_of_real(0);
    return whole && !real
               ? compute_integers(operation, a->integer, b->integer, &value->integer)
               : compute_reals(operation, python_number(a), python_number(b), &value->real);
}
