/*
 * Compiled expressions (base/decision.h) without their stack, for look-ups: operands are numbered
 * places, what several expressions have in common is computed once, and what none of them needs is not
 * computed.
 *
 *     decision_code_begin(&code, steps, step_count, value_count);
 *     part = decision_code_add(&code, steps, count);   (each expression in turn)
 *     decision_code_finish(&code, parts, part_count);
 *     decision_code_start(&code, values, places);
 *     value = decision_code_evaluate(&code, part, places);
 *
 * libtuned contains this module: it never aborts, prints or allocates.
 */
#ifndef AUTOTUNE_DECISION_CODE_H
#define AUTOTUNE_DECISION_CODE_H

#include "base/decision.h"

#include <stddef.h>

/* Two operations in one instruction, the inner one first: X(instruction, values that it takes, its value) */
#define DECISION_PAIRS(X)                                                                          \
    X(MULTIPLY_ADD, 3, a *b + c)                                                                   \
    X(MULTIPLY_MULTIPLY, 3, a *b *c)                                                               \
    X(ADD_ADD, 3, a + b + c)                                                                       \
    X(MIN_MIN, 3, (a < b ? a : b) < c ? (a < b ? a : b) : c)                                       \
    X(MULTIPLY_MAX, 3, c > a * b ? c : a * b)                                                      \
    X(MULTIPLY_CEIL_DIV, 3, ceil(c / (a * b)))                                                     \
    X(CEIL_DIV_MULTIPLY, 3, ceil(a / b) * c)

enum {
    DECISION_LAST_OPERATION = DECISION_SELECT,
#define X(name, ...) DECISION_##name,
    DECISION_PAIRS(X)
#undef X
};

/* `operation` is an enum decision_operation, or one of these pairs; the operands are places. In the finished
 * code, `run` is how many instructions with this operation follow each other from here on, 1 or more. */
struct decision_instruction {
    unsigned char operation, run;
    unsigned short a, b, c;
};

/* An instruction before decision_code_finish(). */
struct decision_draft {
    struct decision_instruction instruction;
    unsigned short uses;  /* of its result; 0: it is dropped */
    unsigned short level; /* higher than its operands' */
    unsigned short index; /* in the finished code */
};

/* The places have the values, the constants and, behind these, each instruction's result. All arrays
 * are the caller's, with room for as many as there are steps. */
struct decision_code {
    struct decision_instruction *instructions;
    double *constants;
    struct decision_draft *drafts; /* not used after decision_code_finish() */
    size_t count, constant_count, value_count;
    unsigned short kept[DECISION_KEPT];
};

/* The instructions of one expression, and the place of its value. */
struct decision_code_part {
    size_t first, count, result;
};

/* Prepares the code of all expressions in these steps, which take `value_count` values. */
void decision_code_begin(struct decision_code *code, const struct decision_step *steps,
                         size_t step_count, size_t value_count);

/* Adds an expression. Like the steps, the parts of a code are evaluated in order, and none is left out
 * before another. */
struct decision_code_part decision_code_add(struct decision_code *code,
                                            const struct decision_step *steps, size_t count);

/* Makes the code of these parts, which are all that were added, in order. Values are the same as
 * decision_evaluate()'s, to the bit. */
void decision_code_finish(struct decision_code *code, struct decision_code_part *const *parts,
                          size_t count);

/* Sets the values and the constants. */
void decision_code_start(const struct decision_code *code, const double *values, double *places);

double decision_code_evaluate(const struct decision_code *code,
                              const struct decision_code_part *part, double *places);

#endif
