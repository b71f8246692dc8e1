/*
 * Compiled expressions (base/decision.h) without their stack, for look-ups: operands are numbered
 * places, and what several expressions have in common is computed once.
 *
 *     decision_code_begin(&code, steps, step_count, value_count);
 *     part = decision_code_add(&code, steps, count);   (each expression in turn)
 *     decision_code_start(&code, values, places);
 *     value = decision_code_evaluate(&code, part, places);
 *
 * libtuned contains this module: it never aborts, prints or allocates.
 */
#ifndef AUTOTUNE_DECISION_CODE_H
#define AUTOTUNE_DECISION_CODE_H

#include "base/decision.h"

#include <stddef.h>

/* A sum with a product is one instruction. */
enum { DECISION_MULTIPLY_ADD = DECISION_SELECT + 1 };

/* `operation` is an enum decision_operation, or DECISION_MULTIPLY_ADD; the operands are places. */
struct decision_instruction {
    unsigned short operation, a, b, c;
};

/* The places have the values, the constants and, behind these, each instruction's result. Both arrays
 * are the caller's, with room for as many as there are steps. */
struct decision_code {
    struct decision_instruction *instructions;
    double *constants;
    size_t count, constant_count, value_count;
    size_t known;      /* the first instruction that others may share */
    size_t kept_count; /* instructions up to the last whose result is kept */
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

/* What follows does not rely on earlier parts. */
void decision_code_forget(struct decision_code *code);

/* Sets the values and the constants. */
void decision_code_start(const struct decision_code *code, const double *values, double *places);

double decision_code_evaluate(const struct decision_code *code,
                              const struct decision_code_part *part, double *places);

#endif
