/*
 * Steps as the parser adds them, an operand at a time: numbers that are known are computed at once,
 * and a right operand that is a mere load becomes part of the operation.
 */
#ifndef AUTOTUNE_EXPRESSION_BUILDER_H
#define AUTOTUNE_EXPRESSION_BUILDER_H

#include "template/expression_steps.h"

#include <stddef.h>

/* What the parser knows of an operand that it has compiled. */
enum operand_kind {
    ANY,        /* seen only when it is evaluated */
    CONDITION,  /* true or false */
    COMPARISON, /* true or false; a comparison or `not x`, and not in parentheses */
    UNCHECKED,  /* the `a` of `condition and a`: a condition, or, if `or` follows, anything */
};

struct operand {
    enum operand_kind kind;
    size_t first;          /* its first step */
    struct span span;      /* of the text */
    struct span unchecked; /* the part that is */
};

/* Adds a step of any kind, on the operand at `operand`; good until the next is added. */
struct step *build_step(struct steps *steps, enum operation operation, struct span operand);

/* The operand that is a name, or a constant, of which a word now belongs to the steps. */
struct operand build_name(struct steps *steps, unsigned index, struct span span);
struct operand build_constant(struct steps *steps, struct value value, struct span span);

/* Makes `operand`, or `left`, the result of the operation; the text of `operand` begins at `start`
 * now. */
void build_unary(struct steps *steps, enum operation operation, unsigned start,
                 struct operand *operand);
void build_binary(struct steps *steps, enum operation operation, struct operand *left,
                  const struct operand *right);

/* Adds a step that jumps; and says that it jumps to the next step to be added. */
size_t build_branch(struct steps *steps, enum operation operation, const struct operand *condition);
void build_target(struct steps *steps, size_t branch);

/* Makes `operand` a condition, by a check when it is evaluated if that is not known by now. */
void build_check(struct steps *steps, struct operand *operand);

#endif
