#include "base/decision_code.h"

#include "base/decision_parser.h"

#include <math.h>
#include <string.h>

/* --- constants --- */

static bool is_same(double a, double b)
{
    return isnan(a) ? isnan(b) != 0
                    : !(a < b) && !(a > b) && !isnan(b) && !signbit(a) == !signbit(b);
}

static size_t find_constant(const struct decision_code *code, double constant)
{
    size_t i = 0;
    while (i < code->constant_count && !is_same(code->constants[i], constant))
        i++;
    return i;
}

void decision_code_begin(struct decision_code *code, const struct decision_step *steps,
                         size_t step_count, size_t value_count)
{
    code->count = code->constant_count = code->known = code->kept_count = 0;
    code->value_count = value_count;
    for (size_t i = 0; i < step_count; i++)
        if (steps[i].operation == DECISION_PUSH &&
            find_constant(code, steps[i].number) == code->constant_count)
            code->constants[code->constant_count++] = steps[i].number;
}

/* --- instructions --- */

static size_t first_result(const struct decision_code *code)
{
    return code->value_count + code->constant_count;
}

/* The place of an instruction's result; it is added unless it is known. */
static unsigned short place_of(struct decision_code *code,
                               const struct decision_instruction *instruction)
{
    size_t i = code->known;
    while (i < code->count && memcmp(&code->instructions[i], instruction, sizeof *instruction) != 0)
        i++;
    if (i == code->count)
        code->instructions[code->count++] = *instruction;
    return (unsigned short)(first_result(code) + i);
}

/* Whether the last instruction computed a product that only the sum of the two values at
 * stack[depth] needs. */
static bool is_product_of_sum(const struct decision_code *code, size_t first,
                              const unsigned short *stack, size_t depth)
{
    size_t place = first_result(code) + code->count - 1;
    if (code->count <= first || code->count <= code->kept_count ||
        code->instructions[code->count - 1].operation != DECISION_MULTIPLY ||
        (stack[depth] == place) == (stack[depth + 1] == place))
        return false;
    for (size_t i = 0; i < depth; i++)
        if (stack[i] == place)
            return false;
    return true;
}

/* Takes the product back, and adds both operations as one instruction. */
static unsigned short add_to_product(struct decision_code *code, const unsigned short *operands)
{
    struct decision_instruction sum = code->instructions[--code->count];
    sum.operation = DECISION_MULTIPLY_ADD;
    sum.c = operands[0] == first_result(code) + code->count ? operands[1] : operands[0];
    return place_of(code, &sum);
}

/* An operation, or a value, number or figure without an instruction. */
static unsigned short translate(struct decision_code *code, const struct decision_step *step,
                                const unsigned short *operands)
{
    size_t arity = decision_arity(step->operation);
    if (step->operation == DECISION_PUSH)
        return (unsigned short)(code->value_count + find_constant(code, step->number));
    if (step->operation == DECISION_VALUE)
        return (unsigned short)step->value;
    if (step->operation == DECISION_TAKE)
        return code->kept[step->value];
    const struct decision_instruction instruction = {
        .operation = (unsigned short)step->operation,
        .a = operands[0],
        .b = arity > 1 ? operands[1] : (unsigned short)0,
        .c = arity > 2 ? operands[2] : (unsigned short)0};
    return place_of(code, &instruction);
}

struct decision_code_part decision_code_add(struct decision_code *code,
                                            const struct decision_step *steps, size_t count)
{
    unsigned short stack[DECISION_DEPTH] = {0};
    size_t depth = 0; /* the parser keeps it within bounds */
    struct decision_code_part part = {.first = code->count};
    for (size_t i = 0; i < count; i++) {
        if (steps[i].operation == DECISION_KEEP) {
            code->kept[steps[i].value] = stack[depth - 1];
            code->kept_count = code->count;
            continue;
        }
        depth -= decision_arity(steps[i].operation);
        stack[depth] =
            steps[i].operation == DECISION_ADD && is_product_of_sum(code, part.first, stack, depth)
                ? add_to_product(code, &stack[depth])
                : translate(code, &steps[i], &stack[depth]);
        depth++;
    }
    part.count = code->count - part.first;
    part.result = stack[0];
    return part;
}

void decision_code_forget(struct decision_code *code)
{
    code->known = code->count;
}

/* --- evaluating --- */

void decision_code_start(const struct decision_code *code, const double *values, double *places)
{
    memcpy(places, values, code->value_count * sizeof *places);
    memcpy(places + code->value_count, code->constants, code->constant_count * sizeof *places);
}

double decision_code_evaluate(const struct decision_code *code,
                              const struct decision_code_part *part, double *places)
{
    const struct decision_instruction *from = code->instructions + part->first;
    double *result = places + first_result(code) + part->first;
    for (size_t i = 0; i < part->count; i++) {
        const double a = places[from[i].a];
        const double b = places[from[i].b];
        const double c = places[from[i].c];
        switch (from[i].operation) {
#define X(name, arity, value)                                                                      \
    case DECISION_##name:                                                                          \
        result[i] = (value);                                                                       \
        break;
            DECISION_OPERATIONS(X)
#undef X
        case DECISION_MULTIPLY_ADD:
            result[i] = a * b + c;
            break;
        default: /* not an operation */
            result[i] = NAN;
            break;
        }
    }
    return places[part->result];
}
