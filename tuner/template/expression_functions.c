#include "template/expression_functions.h"

#include "base/suggestion.h"
#include "template/number.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* --- arguments --- */

static int bad_argument(const struct expression_call *call, size_t index, const char *what)
{
    return error_set(call->error, ERROR_CONFIG, "argument %zu of '%s' %s", index + 1, call->name,
                     what);
}

static int too_large(const struct expression_call *call)
{
    return error_set(call->error, ERROR_CONFIG, "the result of '%s' does not fit in 64 bits",
                     call->name);
}

static int check_number(const struct expression_call *call, size_t index)
{
    return number_is(&call->arguments[index]) ? 0 : bad_argument(call, index, "must be a number");
}

static int take_integer(const struct expression_call *call, size_t index, int64_t *integer)
{
    if (number_whole(&call->arguments[index], integer))
        return 0;
    return bad_argument(call, index, "must be a whole number; floor() and ceil() round");
}

/* --- functions --- */

/* The first argument that stands to all before it as `wanted` says. */
static int extreme(const struct expression_call *call, enum order wanted, struct value *result)
{
    const struct value *best = &call->arguments[0];
    for (size_t i = 0; i < call->count; i++) {
        int status = check_number(call, i);
        if (status != 0)
            return status;
        if (number_order(&call->arguments[i], best) == wanted)
            best = &call->arguments[i];
    }
    *result = *best;
    return 0;
}

static int call_min(const struct expression_call *call, struct value *result)
{
    return extreme(call, ORDER_LESS, result);
}

static int call_max(const struct expression_call *call, struct value *result)
{
    return extreme(call, ORDER_GREATER, result);
}

static int call_abs(const struct expression_call *call, struct value *result)
{
    int status = check_number(call, 0);
    if (status != 0)
        return status;
    *result = call->arguments[0];
    if (result->kind == VALUE_REAL)
        result->as.real = fabs(result->as.real);
    else if (result->as.integer == INT64_MIN)
        status = too_large(call);
    else if (result->as.integer < 0)
        result->as.integer = -result->as.integer;
    return status;
}

/* Rounds to a whole number; one that does not fit in 64 bits stays real. */
static int rounded(const struct expression_call *call, double (*round_to)(double),
                   struct value *result)
{
    int64_t whole;
    int status = check_number(call, 0);
    if (status != 0)
        return status;
    *result = call->arguments[0];
    if (result->kind == VALUE_REAL)
        result->as.real = round_to(result->as.real);
    if (number_whole(result, &whole))
        *result = value_integer(whole);
    return 0;
}

static int call_floor(const struct expression_call *call, struct value *result)
{
    return rounded(call, floor, result);
}

static int call_ceil(const struct expression_call *call, struct value *result)
{
    return rounded(call, ceil, result);
}

/* The arguments of ceil_div() and round_up(), and the quotient rounded up, without overflow. */
static int take_quotient(const struct expression_call *call, int64_t *quotient, int64_t *divisor)
{
    int64_t dividend = 0;
    int status = take_integer(call, 0, &dividend);
    if (status == 0)
        status = take_integer(call, 1, divisor);
    if (status != 0)
        return status;
    if (*divisor <= 0)
        return bad_argument(call, 1, "must be above 0");
    if (dividend < 0)
        return bad_argument(call, 0, "must not be negative");
    *quotient = dividend / *divisor + (dividend % *divisor != 0);
    return 0;
}

static int call_ceil_div(const struct expression_call *call, struct value *result)
{
    int64_t quotient = 0;
    int64_t divisor = 1;
    int status = take_quotient(call, &quotient, &divisor);
    if (status == 0)
        *result = value_integer(quotient);
    return status;
}

static int call_round_up(const struct expression_call *call, struct value *result)
{
    int64_t quotient = 0;
    int64_t divisor = 1;
    int64_t multiple;
    int status = take_quotient(call, &quotient, &divisor);
    if (status != 0)
        return status;
    if (__builtin_mul_overflow(quotient, divisor, &multiple))
        return too_large(call);
    *result = value_integer(multiple);
    return 0;
}

static int64_t floor_log2(int64_t number)
{
    return 63 - __builtin_clzll((unsigned long long)number);
}

static int take_positive(const struct expression_call *call, int64_t *integer)
{
    int status = take_integer(call, 0, integer);
    if (status == 0 && *integer <= 0)
        status = bad_argument(call, 0, "must be above 0");
    return status;
}

static int call_log2_floor(const struct expression_call *call, struct value *result)
{
    int64_t number = 1;
    int status = take_positive(call, &number);
    if (status == 0)
        *result = value_integer(floor_log2(number));
    return status;
}

static int call_log2_ceil(const struct expression_call *call, struct value *result)
{
    int64_t number = 1;
    int status = take_positive(call, &number);
    if (status == 0)
        *result = value_integer(number == 1 ? 0 : floor_log2(number - 1) + 1);
    return status;
}

/* --- the table --- */

static const struct expression_function functions[] = {
    {"min", 1, SIZE_MAX, call_min},
    {"max", 1, SIZE_MAX, call_max},
    {"abs", 1, 1, call_abs},
    {"floor", 1, 1, call_floor},
    {"ceil", 1, 1, call_ceil},
    {"ceil_div", 2, 2, call_ceil_div},
    {"round_up", 2, 2, call_round_up},
    {"log2_floor", 1, 1, call_log2_floor},
    {"log2_ceil", 1, 1, call_log2_ceil},
};

enum { FUNCTION_COUNT = sizeof functions / sizeof *functions };

const struct expression_function *expression_function_find(const char *name)
{
    for (size_t i = 0; i < FUNCTION_COUNT; i++)
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    return NULL;
}

int expression_function_unknown(const char *name, struct error *error)
{
    const char *known[FUNCTION_COUNT + 1] = {NULL};
    for (size_t i = 0; i < FUNCTION_COUNT; i++)
        known[i] = functions[i].name;
    return suggestion_unknown("", 0, "function", name, known, error);
}
