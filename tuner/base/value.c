#include "base/value.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool value_equal(struct value a, struct value b)
{
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case VALUE_INTEGER:
        return a.as.integer == b.as.integer;
    case VALUE_REAL:
        return !(a.as.real < b.as.real) && !(a.as.real > b.as.real);
    case VALUE_WORD:
        return strcmp(a.as.word, b.as.word) == 0;
    case VALUE_BOOLEAN:
        return a.as.boolean == b.as.boolean;
    }
    return false;
}

bool value_alike(struct value a, struct value b)
{
    if (a.kind == VALUE_INTEGER && b.kind == VALUE_REAL)
        a = value_real((double)a.as.integer);
    else if (a.kind == VALUE_REAL && b.kind == VALUE_INTEGER)
        b = value_real((double)b.as.integer);
    return value_equal(a, b);
}

char *value_text(struct value value, char buffer[VALUE_TEXT_BYTES])
{
    switch (value.kind) {
    case VALUE_INTEGER:
        (void)snprintf(buffer, VALUE_TEXT_BYTES, "%" PRId64, value.as.integer);
        break;
    case VALUE_REAL:
        (void)literal_real_text(value.as.real, buffer);
        break;
    case VALUE_WORD:
        (void)snprintf(buffer, VALUE_TEXT_BYTES, "%s", value.as.word);
        break;
    case VALUE_BOOLEAN:
        (void)snprintf(buffer, VALUE_TEXT_BYTES, "%s", value.as.boolean ? "true" : "false");
        break;
    }
    return buffer;
}

char *value_exact_text(struct value value, char buffer[VALUE_TEXT_BYTES])
{
    (void)value_text(value, buffer);
    if (value.kind == VALUE_REAL && strpbrk(buffer, ".e") == NULL)
        memcpy(buffer + strlen(buffer), ".0", sizeof ".0"); /* at most 24 bytes so far */
    return buffer;
}

struct value value_from_literal(const struct literal *literal, const char *text)
{
    switch (literal->kind) {
    case LITERAL_INTEGER:
        return value_integer(literal->integer);
    case LITERAL_REAL:
        return value_real(literal->real);
    case LITERAL_WORD:
        break;
    }
    return value_word(text);
}

int value_parse(const char *text, struct value *value, struct error *error)
{
    struct literal literal;
    const char *wrong = literal_parse(text, &literal);
    if (wrong != NULL)
        return error_set(error, ERROR_CONFIG, "'%.200s' %s", text, wrong);
    *value = value_from_literal(&literal, text);
    return 0;
}

/* --- numbers --- */

double value_scale(double number)
{
    double scale = log2(1 + fabs(number));
    return copysign(isinf(scale) ? DBL_MAX_EXP : scale, number); /* distances stay finite */
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
    if (!(b >= -NUMBER_INTEGER_LIMIT && b < NUMBER_INTEGER_LIMIT))
        return order_reals(0, b);
    double whole = trunc(b);
    enum order order = order_integers(a, (int64_t)whole);
    return order == ORDER_EQUAL ? order_reals(whole, b) : order;
}

enum order number_order(const struct value *left, const struct value *right)
{
    if (left->kind == right->kind)
        return left->kind == VALUE_INTEGER ? order_integers(left->as.integer, right->as.integer)
                                           : order_reals(left->as.real, right->as.real);
    if (left->kind == VALUE_INTEGER)
        return order_mixed(left->as.integer, right->as.real);
    enum order order = order_mixed(right->as.integer, left->as.real);
    return order == ORDER_LESS ? ORDER_GREATER : order == ORDER_GREATER ? ORDER_LESS : order;
}
