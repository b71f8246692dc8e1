#include "base/decision_code.h"

#include "base/decision_parser.h"

#include <limits.h>
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
    code->count = code->constant_count = 0;
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
    size_t i = 0;
    while (i < code->count &&
           memcmp(&code->drafts[i].instruction, instruction, sizeof *instruction) != 0)
        i++;
    if (i == code->count)
        code->drafts[code->count++].instruction = *instruction;
    return (unsigned short)(first_result(code) + i);
}

static bool is_constant(const struct decision_code *code, size_t place)
{
    return place >= code->value_count && place < first_result(code);
}

static double constant_at(const struct decision_code *code, size_t place)
{
    return code->constants[place - code->value_count];
}

static bool is_one(const struct decision_code *code, size_t place)
{
    return is_constant(code, place) && is_same(constant_at(code, place), 1);
}

/* The operand that is the result of an operation in any case; NULL if there is none. */
static const unsigned short *known_result(const struct decision_code *code,
                                          enum decision_operation operation,
                                          const unsigned short *operands)
{
    if (operation == DECISION_SELECT && is_constant(code, operands[0]))
        return constant_at(code, operands[0]) > 0 ? &operands[1] : &operands[2];
    if (operation == DECISION_MULTIPLY && is_one(code, operands[0]))
        return &operands[1];
    return operation == DECISION_MULTIPLY && is_one(code, operands[1]) ? &operands[0] : NULL;
}

/* Whether a and b may change places. */
static bool is_commutative(enum decision_operation operation)
{
    return operation == DECISION_ADD || operation == DECISION_MULTIPLY;
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
    const unsigned short *known = known_result(code, step->operation, operands);
    if (known != NULL)
        return *known;
    struct decision_instruction instruction = {.operation = (unsigned char)step->operation,
                                               .a = operands[0],
                                               .b = arity > 1 ? operands[1] : (unsigned short)0,
                                               .c = arity > 2 ? operands[2] : (unsigned short)0};
    if (is_commutative(step->operation) && instruction.a > instruction.b) {
        instruction.a = operands[1];
        instruction.b = operands[0];
    }
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
            continue;
        }
        depth -= decision_arity(steps[i].operation);
        stack[depth] = translate(code, &steps[i], &stack[depth]);
        depth++;
    }
    part.count = code->count - part.first;
    part.result = stack[0];
    return part;
}

/* --- fewer instructions, in another order --- */

/* The draft whose result is at a place; NULL for values and constants. */
static struct decision_draft *draft_at(const struct decision_code *code, size_t place)
{
    return place >= first_result(code) ? &code->drafts[place - first_result(code)] : NULL;
}

static void use(const struct decision_code *code, size_t place)
{
    struct decision_draft *draft = draft_at(code, place);
    if (draft != NULL)
        draft->uses++;
}

/* Operands come before the instruction that needs them. */
static void count_uses(const struct decision_code *code, struct decision_code_part *const *parts,
                       size_t count)
{
    for (size_t i = 0; i < code->count; i++)
        code->drafts[i].uses = 0;
    for (size_t i = 0; i < count; i++)
        use(code, parts[i]->result);
    for (size_t i = code->count; i-- > 0;) {
        const struct decision_instruction *from = &code->drafts[i].instruction;
        size_t arity = decision_arity((enum decision_operation)from->operation);
        if (code->drafts[i].uses == 0)
            continue;
        use(code, from->a);
        if (arity > 1)
            use(code, from->b);
        if (arity > 2)
            use(code, from->c);
    }
}

/* The operations of each pair, and which operand of the outer one, 0 or 1, the inner one is; if they may change places,
 * it may be either. */
static const struct pair {
    unsigned char inner, outer, operand, both;
} pairs[] = {{DECISION_MULTIPLY, DECISION_ADD, 0, DECISION_MULTIPLY_ADD},
             {DECISION_MULTIPLY, DECISION_MULTIPLY, 0, DECISION_MULTIPLY_MULTIPLY},
             {DECISION_ADD, DECISION_ADD, 0, DECISION_ADD_ADD},
             {DECISION_MIN, DECISION_MIN, 0, DECISION_MIN_MIN},
             {DECISION_MULTIPLY, DECISION_MAX, 1, DECISION_MULTIPLY_MAX},
             {DECISION_MULTIPLY, DECISION_CEIL_DIV, 1, DECISION_MULTIPLY_CEIL_DIV},
             {DECISION_CEIL_DIV, DECISION_MULTIPLY, 0, DECISION_CEIL_DIV_MULTIPLY}};

/* NULL if there is none. */
static const struct pair *pair_of(unsigned char inner, unsigned char outer, size_t operand)
{
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].inner == inner && pairs[i].outer == outer &&
            (pairs[i].operand == operand || is_commutative(outer)))
            return &pairs[i];
    return NULL;
}

/* Computes an operand together with `outer`, if nothing else needs it. */
static void join(const struct decision_code *code, struct decision_instruction *outer)
{
    const unsigned short operands[] = {outer->a, outer->b};
    for (size_t i = 0; i < 2; i++) {
        struct decision_draft *inner = draft_at(code, operands[i]);
        const struct pair *pair = inner != NULL && inner->uses == 1
                                      ? pair_of(inner->instruction.operation, outer->operation, i)
                                      : NULL;
        if (pair == NULL)
            continue;
        *outer = (struct decision_instruction){.operation = pair->both,
                                               .a = inner->instruction.a,
                                               .b = inner->instruction.b,
                                               .c = operands[1 - i]};
        inner->uses = 0;
    }
}

/* How many instructions have to come before one, if all that can be are computed at the same time. */
static void set_level(const struct decision_code *code, struct decision_draft *draft)
{
    const unsigned short operands[] = {draft->instruction.a, draft->instruction.b,
                                       draft->instruction.c};
    draft->level = 0;
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
        const struct decision_draft *operand = draft_at(code, operands[i]);
        if (operand != NULL && operand->level >= draft->level)
            draft->level = (unsigned short)(operand->level + 1);
    }
}

/* By level, so that a processor can compute several at a time; then by operation. */
static bool comes_before(const struct decision_draft *a, const struct decision_draft *b)
{
    if (a->level != b->level)
        return a->level < b->level;
    if (a->instruction.operation != b->instruction.operation)
        return a->instruction.operation < b->instruction.operation;
    return a < b;
}

/* Gives the used drafts of a part their indices, from `first` on. Returns how many these are. */
static size_t order(const struct decision_code *code, const struct decision_code_part *part,
                    size_t first)
{
    struct decision_draft *begin = code->drafts + part->first;
    struct decision_draft *end = begin + part->count;
    size_t count = 0;
    for (struct decision_draft *draft = begin; draft < end; draft++) {
        size_t index = first;
        for (const struct decision_draft *other = begin; other < end; other++)
            index += other->uses > 0 && comes_before(other, draft);
        draft->index = (unsigned short)index;
        count += draft->uses > 0;
    }
    return count;
}

static unsigned short moved(const struct decision_code *code, size_t place)
{
    const struct decision_draft *draft = draft_at(code, place);
    return (unsigned short)(draft != NULL ? first_result(code) + draft->index : place);
}

static void write_instructions(const struct decision_code *code)
{
    for (size_t i = 0; i < code->count; i++) {
        const struct decision_instruction *from = &code->drafts[i].instruction;
        if (code->drafts[i].uses > 0)
            code->instructions[code->drafts[i].index] =
                (struct decision_instruction){.operation = from->operation,
                                              .a = moved(code, from->a),
                                              .b = moved(code, from->b),
                                              .c = moved(code, from->c)};
    }
}

/* So that evaluate() dispatches once per run of equal operations. */
static void count_runs(const struct decision_code *code, const struct decision_code_part *part)
{
    struct decision_instruction *begin = code->instructions + part->first;
    for (size_t i = part->count; i-- > 0;) {
        bool goes_on = i + 1 < part->count && begin[i + 1].operation == begin[i].operation &&
                       begin[i + 1].run < UCHAR_MAX;
        begin[i].run = goes_on ? (unsigned char)(begin[i + 1].run + 1) : (unsigned char)1;
    }
}

void decision_code_finish(struct decision_code *code, struct decision_code_part *const *parts,
                          size_t count)
{
    size_t used = 0;
    count_uses(code, parts, count);
    for (size_t i = 0; i < code->count; i++) {
        struct decision_draft *draft = &code->drafts[i];
        if (draft->uses > 0)
            join(code, &draft->instruction);
        set_level(code, draft);
    }
    for (size_t i = 0; i < count; i++) {
        size_t own = order(code, parts[i], used);
        parts[i]->first = used;
        parts[i]->count = own;
        used += own;
    }
    for (size_t i = 0; i < count; i++)
        parts[i]->result = moved(code, parts[i]->result);
    write_instructions(code);
    for (size_t i = 0; i < count; i++)
        count_runs(code, parts[i]);
    code->count = used;
}

/* --- evaluating --- */

void decision_code_start(const struct decision_code *code, const double *values, double *places)
{
    memcpy(places, values, code->value_count * sizeof *places);
    memcpy(places + code->value_count, code->constants, code->constant_count * sizeof *places);
}

/* NOLINTBEGIN(readability-function-cognitive-complexity): one loop, written for each operation */

/* Inlined, so that it can be compiled for several processors. */
__attribute__((always_inline)) static inline double
evaluate(const struct decision_code *code, const struct decision_code_part *part, double *places)
{
    const struct decision_instruction *at = code->instructions + part->first;
    const struct decision_instruction *end = at + part->count;
    double *result = places + first_result(code) + part->first;
    while (at < end) {
        const struct decision_instruction *next = at + at->run;
        switch (at->operation) {
#define TAKE_1 const double a = places[at->a];
#define TAKE_2 TAKE_1 const double b = places[at->b];
#define TAKE_3 TAKE_2 const double c = places[at->c];
#define X(name, arity, value)                                                                      \
    case DECISION_##name:                                                                          \
        do {                                                                                       \
            TAKE_##arity *result++ = (value);                                                      \
        } while (++at < next);                                                                     \
        break;
            DECISION_OPERATIONS(X)
            DECISION_PAIRS(X)
#undef X
        default: /* not an instruction */
            return NAN;
        }
    }
    return places[part->result];
}

/* NOLINTEND(readability-function-cognitive-complexity) */

#if defined(__x86_64__) && defined(__GNUC__) /* clang, too */
/* With SSE4.1, which Intel has had since 2008 and AMD since 2011, floor(), ceil() and SELECT are one instruction each.
 * With this, with runs, and with seven pairs instead of three, a look-up in the cover of sgemm takes 0.86 instead of
 * 1.00 us on an H200's host. */
__attribute__((target("sse4.1"))) static double
evaluate_with_sse41(const struct decision_code *code, const struct decision_code_part *part,
                    double *places)
{
    return evaluate(code, part, places);
}
#endif

double decision_code_evaluate(const struct decision_code *code,
                              const struct decision_code_part *part, double *places)
{
#if defined(__x86_64__) && defined(__GNUC__)
    /* gcc would otherwise take this for unlikely, and the function for one to make small */
    if (__builtin_expect(__builtin_cpu_supports("sse4.1") != 0, 1))
        return evaluate_with_sse41(code, part, places);
#endif
    return evaluate(code, part, places);
}
