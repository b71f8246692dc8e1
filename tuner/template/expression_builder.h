/*
 * Builds an expression's steps, as the parser finds its operands. Operations on constant numbers
 * are computed at once, and a right operand that is only a load becomes part of the operation.
 */
#ifndef AUTOTUNE_EXPRESSION_BUILDER_H
#define AUTOTUNE_EXPRESSION_BUILDER_H

#include "template/expression_steps.h"

#include <stddef.h>

/* What the parser knows of an operand that it has compiled. */
enum operand_kind {
    ANY,        /* not known before it is evaluated */
    CONDITION,  /* true or false */
    COMPARISON, /* true or false; a comparison or `not x`, and not in parentheses */
    UNCHECKED,  /* the `a` of `condition and a`: a condition, or, if `or` follows, anything */
};

struct operand {
    enum operand_kind kind;
    size_t first;          /* its first step */
    struct span span;      /* of the text */
    struct span unchecked; /* the part of it that is UNCHECKED */
};

/* Adds a step of any kind, on the operand at `operand`; the pointer is valid until the next one. */
struct step *build_step(struct steps *steps, enum operation operation, struct span operand);

/* A new operand: a name or a constant. The steps take over the word of a constant. */
struct operand build_name(struct steps *steps, unsigned index, struct span span);
struct operand build_constant(struct steps *steps, struct value value, struct span span);

/* Apply an operation; `operand` or `left` becomes its result. The text of a unary operation begins
 * at `start`. */
void build_unary(struct steps *steps, enum operation operation, unsigned start,
                 struct operand *operand);
void build_binary(struct steps *steps, enum operation operation, struct operand *left,
                  const struct operand *right);

/* build_branch() adds a step that jumps; build_target() makes it jump to the step added next. */
size_t build_branch(struct steps *steps, enum operation operation, const struct operand *condition);
void build_target(struct steps *steps, size_t branch);

/* Makes `operand` a condition: unless it is known to be one, adds a check for its evaluation. */
void build_check(struct steps *steps, struct operand *operand);

#endif
