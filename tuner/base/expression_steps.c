#include "base/expression_steps.h"

#include "base/suggestion.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* One evaluation. */
struct run {
    const char *text;
    const struct step *items;
    const struct value *const *values;
    struct error *error;
};

/* A processor waits if it is to read at once what was written in parts just before. */
static inline void copy_value(struct value *to, const struct value *from)
{
    to->kind = from->kind;
    to->as = from->as;
}

/* --- what goes wrong --- */

static const char *kind_text(const struct value *value)
{
    static const char *const texts[] = {[VALUE_INTEGER] = "a number",
                                        [VALUE_REAL] = "a number",
                                        [VALUE_WORD] = "a word",
                                        [VALUE_BOOLEAN] = "a condition"};
    return texts[value->kind];
}

static int not_a_number(const struct run *run, struct span span, const struct value *value)
{
    return error_set(run->error, ERROR_CONFIG,
                     value->kind == VALUE_BOOLEAN
                         ? "'%.*s' is a condition, not a number; write (%.*s ? 1 : 0)"
                         : "'%.*s' is a word, not a number; compare it with == (%.*s == ...)",
                     SPAN_TEXT(run->text, span), SPAN_TEXT(run->text, span));
}

static int not_comparable(const struct run *run, const struct step *step, const struct value *left,
                          const struct value *right)
{
    return error_set(run->error, ERROR_CONFIG,
                     "'%.*s' is %s and '%.*s' is %s; < <= > >= compare two numbers or two words",
                     SPAN_TEXT(run->text, step->left), kind_text(left),
                     SPAN_TEXT(run->text, step->right), kind_text(right));
}

static int division_by_zero(const struct run *run, const struct step *step)
{
    const struct span whole = {step->left.start, step->right.end};
    if (step->source == FROM_CONSTANT)
        return error_set(run->error, ERROR_CONFIG, "division by zero: '%.*s'",
                         SPAN_TEXT(run->text, whole));
    return error_set(run->error, ERROR_CONFIG,
                     "division by zero: '%.*s' is 0; test '%.*s != 0' first",
                     SPAN_TEXT(run->text, step->right), SPAN_TEXT(run->text, step->right));
}

static int too_large(const struct run *run, struct span span)
{
    return error_set(run->error, ERROR_CONFIG,
                     "'%.*s' does not fit in 64 bits; multiply an operand by 1.0 to compute with "
                     "real numbers",
                     SPAN_TEXT(run->text, span));
}

int steps_not_a_condition(const char *text, size_t length, const struct value *value,
                          struct error *error)
{
    bool name = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") >= length;
    char comparison[VALUE_TEXT_BYTES + 8] = "!= 0";
    if (value->kind == VALUE_WORD)
        (void)snprintf(comparison, sizeof comparison, "== \"%s\"", value->as.word);
    return error_set(error, ERROR_CONFIG, "'%.*s' is %s, not a condition; write '%s%.*s%s %s'",
                     (int)length, text, kind_text(value), name ? "" : "(", (int)length, text,
                     name ? "" : ")", comparison);
}

/* --- conditions --- */

bool steps_truth(const char *word, bool *truth)
{
    static const struct {
        const char *word;
        bool truth;
    } truths[] = {{"true", true}, {"yes", true}, {"false", false}, {"no", false}};
    for (size_t i = 0; i < sizeof truths / sizeof *truths; i++)
        if (strcmp(truths[i].word, word) == 0) {
            *truth = truths[i].truth;
            return true;
        }
    return false;
}

bool steps_condition(const struct value *value, bool *truth)
{
    if (value->kind == VALUE_BOOLEAN) {
        *truth = value->as.boolean;
        return true;
    }
    return value->kind == VALUE_WORD && steps_truth(value->as.word, truth);
}

/* Makes `value`, that of step->left, true or false. */
static int make_condition(const struct run *run, const struct step *step, struct value *value)
{
    bool truth;
    if (value->kind == VALUE_BOOLEAN)
        return 0;
    if (!steps_condition(value, &truth))
        return steps_not_a_condition(run->text + step->left.start,
                                     step->left.end - step->left.start, value, run->error);
    *value = value_boolean(truth);
    return 0;
}

/* --- numbers --- */

/* Rounded down, so that -7 // 2 is -4, and -7 % 2 is 1: what is left of it has the divisor's sign.
 * `b` is neither 0 nor -1. */
static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a ^ b) < 0);
}

static int64_t floor_modulo(int64_t a, int64_t b)
{
    return a % b + (a % b != 0 && (a ^ b) < 0 ? b : 0);
}

static int compute_integers(const struct run *run, const struct step *step, struct value *left,
                            int64_t b)
{
    int64_t a = left->as.integer;
    int64_t result = 0; /* a % -1, of any a */
    bool overflow = false;
    if (step->operation == DO_ADD)
        overflow = __builtin_add_overflow(a, b, &result);
    else if (step->operation == DO_SUBTRACT)
        overflow = __builtin_sub_overflow(a, b, &result);
    else if (step->operation == DO_MULTIPLY)
        overflow = __builtin_mul_overflow(a, b, &result);
    else if (b == 0)
        return division_by_zero(run, step);
    else if (b != -1)
        result = step->operation == DO_MODULO ? floor_modulo(a, b) : floor_divide(a, b);
    else if (step->operation == DO_FLOOR_DIVIDE)
        overflow = __builtin_sub_overflow(0, a, &result);
    if (overflow)
        return too_large(run, (struct span){step->left.start, step->right.end});
    left->as.integer = result;
    return 0;
}

/* a to the power of b, by repeated squaring; false if it is not a whole number of 64 bits. */
static bool raise_integer(int64_t a, int64_t b, int64_t *result)
{
    bool fits = b >= 0;
    for (*result = 1; fits && b > 0; b /= 2) {
        fits = b % 2 == 0 || !__builtin_mul_overflow(*result, a, result);
        fits = fits && (b == 1 || !__builtin_mul_overflow(a, a, &a));
    }
    return fits;
}

static double floor_modulo_reals(double a, double b)
{
    double rest = fmod(a, b);
    return (rest > 0 && b < 0) || (rest < 0 && b > 0) ? rest + b : rest;
}

static double compute_reals(enum operation operation, double a, double b)
{
    switch (operation) {
    case DO_ADD:
        return a + b;
    case DO_SUBTRACT:
        return a - b;
    case DO_MULTIPLY:
        return a * b;
    case DO_DIVIDE:
        return a / b;
    case DO_FLOOR_DIVIDE:
        return floor(a / b);
    case DO_POWER:
        return pow(a, b);
    default:
        return floor_modulo_reals(a, b);
    }
}

static int compute(const struct run *run, const struct step *step, struct value *left,
                   const struct value *right)
{
    bool integers = left->kind == VALUE_INTEGER && right->kind == VALUE_INTEGER;
    bool divides = step->operation == DO_DIVIDE || step->operation == DO_FLOOR_DIVIDE ||
                   step->operation == DO_MODULO;
    if (integers && step->operation == DO_POWER) {
        int64_t power;
        if (raise_integer(left->as.integer, right->as.integer, &power)) {
            *left = value_integer(power);
            return 0;
        }
    } else if (integers && step->operation != DO_DIVIDE)
        return compute_integers(run, step, left, right->as.integer);
    if (!number_is(left))
        return not_a_number(run, step->left, left);
    if (!number_is(right))
        return not_a_number(run, step->right, right);
    if (divides && fpclassify(number_real(right)) == FP_ZERO)
        return division_by_zero(run, step);
    *left = value_real(compute_reals(step->operation, number_real(left), number_real(right)));
    return 0;
}

static int negate(const struct run *run, const struct step *step, struct value *value)
{
    if (!number_is(value))
        return not_a_number(run, step->left, value);
    if (value->kind == VALUE_REAL)
        value->as.real = -value->as.real;
    else if (__builtin_sub_overflow(0, value->as.integer, &value->as.integer))
        return too_large(run, step->right);
    return 0;
}

/* --- comparisons --- */

/* Of values of any kind; those of unlike kinds are different. */
static enum order order_values(const struct value *left, const struct value *right)
{
    bool a;
    bool b;
    if (number_is(left) && number_is(right))
        return number_order(left, right);
    if (left->kind == VALUE_WORD && right->kind == VALUE_WORD) {
        int order = strcmp(left->as.word, right->as.word); /* of ASCII: the same in every locale */
        return order < 0 ? ORDER_LESS : order > 0 ? ORDER_GREATER : ORDER_EQUAL;
    }
    return steps_condition(left, &a) && steps_condition(right, &b) && a == b ? ORDER_EQUAL
                                                                             : ORDER_NONE;
}

static int compare(const struct run *run, const struct step *step, struct value *left,
                   const struct value *right)
{
    static const unsigned holds[] = {
        [DO_EQUAL] = ORDER_EQUAL,     [DO_DIFFERENT] = ORDER_LESS | ORDER_GREATER | ORDER_NONE,
        [DO_LESS] = ORDER_LESS,       [DO_LESS_EQUAL] = ORDER_LESS | ORDER_EQUAL,
        [DO_GREATER] = ORDER_GREATER, [DO_GREATER_EQUAL] = ORDER_GREATER | ORDER_EQUAL,
    };
    bool words = left->kind == VALUE_WORD && right->kind == VALUE_WORD;
    if (step->operation >= DO_LESS && !words && !(number_is(left) && number_is(right)))
        return not_comparable(run, step, left, right);
    *left = value_boolean((order_values(left, right) & holds[step->operation]) != 0);
    return 0;
}

/* --- running --- */

/* AND, OR, CHOSEN and BRANCH. */
static int decide(const struct run *run, const struct step *step, struct value **top,
                  const struct step **next)
{
    bool truth;
    if (step->operation == DO_CHOSEN && !steps_condition(*top, &truth)) {
        *next = &run->items[step->index];
        return 0;
    }
    int status = make_condition(run, step, *top);
    if (status != 0)
        return status;
    bool jumps_if = step->operation == DO_OR || step->operation == DO_CHOSEN;
    bool jumps = (*top)->as.boolean == jumps_if;
    if (jumps)
        *next = &run->items[step->index];
    if (!jumps || step->operation == DO_BRANCH)
        --*top;
    return 0;
}

/* Calls the function with the topmost values, and puts its result in their place. */
static int call(const struct run *run, const struct step *step, struct value **top)
{
    *top -= step->count - 1;
    const struct expression_call call = {.name = step->as.function->name,
                                         .arguments = *top,
                                         .count = step->count,
                                         .error = run->error};
    return step->as.function->call(&call, *top);
}

static int run_binary(const struct run *run, const struct step *step, struct value **top)
{
    const struct value *right = step->source == FROM_NAME       ? run->values[step->index]
                                : step->source == FROM_CONSTANT ? &step->as.constant
                                                                : (*top)--;
    return step->operation >= DO_EQUAL ? compare(run, step, *top, right)
                                       : compute(run, step, *top, right);
}

/* `*next` is the next step, which jumps change. */
static int run_step(const struct run *run, const struct step *step, struct value **top,
                    const struct step **next)
{
    int status;
    if (step->operation <= DO_GREATER_EQUAL)
        return run_binary(run, step, top);
    switch (step->operation) {
    case DO_LOAD:
        *++*top = step->source == FROM_NAME ? *run->values[step->index] : step->as.constant;
        return 0;
    case DO_NEGATE:
        return negate(run, step, *top);
    case DO_NOT:
        status = make_condition(run, step, *top);
        if (status == 0)
            (*top)->as.boolean = !(*top)->as.boolean;
        return status;
    case DO_CONDITION:
        return make_condition(run, step, *top);
    case DO_AND:
    case DO_OR:
    case DO_CHOSEN:
    case DO_BRANCH:
        return decide(run, step, top, next);
    case DO_JUMP:
        *next = &run->items[step->index];
        return 0;
    default:
        return call(run, step, top);
    }
}

int steps_run(const struct steps *steps, const struct value *const *values, struct value *result,
              struct error *error)
{
    struct value stack[STEPS_STACK_LIMIT + 1];
    struct value *top = stack; /* the first value goes above it */
    const struct run run = {steps->text, steps->items, values, error};
    const struct step *const end = steps->items + steps->count;
    *top = value_boolean(false); /* never used: the first step loads a value */
    for (const struct step *next = steps->items; next < end;) {
        const struct step *step = next++;
        int status = run_step(&run, step, &top, &next);
        if (status != 0)
            return status;
    }
    copy_value(result, top);
    return 0;
}

/* How many values more there are on the stack in the step that follows. */
static int stack_change(const struct step *step)
{
    switch (step->operation) {
    case DO_LOAD:
        return 1;
    case DO_NEGATE:
    case DO_NOT:
    case DO_CONDITION:
        return 0;
    case DO_CALL:
        return 1 - (int)step->count;
    case DO_AND:
    case DO_OR:
    case DO_CHOSEN:
    case DO_BRANCH:
    case DO_JUMP:
        return -1;
    default:
        return step->source == FROM_STACK ? -1 : 0;
    }
}

size_t steps_stack_needed(const struct steps *steps)
{
    int depth = 0;
    int most = 0;
    for (size_t i = 0; i < steps->count; i++) {
        depth += stack_change(&steps->items[i]);
        most = depth > most ? depth : most;
    }
    return (size_t)most;
}

/* --- arguments of functions --- */

static int bad_argument(const struct expression_call *call, size_t index, const char *what)
{
    return error_set(call->error, ERROR_CONFIG, "argument %zu of '%s' %s", index + 1, call->name,
                     what);
}

static int result_too_large(const struct expression_call *call)
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
    copy_value(result, best);
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
        status = result_too_large(call);
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
        return result_too_large(call);
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

const char *expression_function_name(size_t index)
{
    return index < FUNCTION_COUNT ? functions[index].name : NULL;
}

int expression_function_unknown(const char *name, struct error *error)
{
    const char *known[FUNCTION_COUNT + 1] = {NULL};
    for (size_t i = 0; i < FUNCTION_COUNT; i++)
        known[i] = functions[i].name;
    return suggestion_unknown("", 0, "function", name, known, error);
}
