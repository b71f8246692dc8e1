#include "template/expression_builder.h"

#include "base/alloc.h"
#include "template/number.h"

struct step *build_step(struct steps *steps, enum operation operation, struct span operand)
{
    struct step *step = ARRAY_APPEND(steps->items, steps->count);
    step->operation = operation;
    step->left = operand;
    return step;
}

struct operand build_name(struct steps *steps, unsigned index, struct span span)
{
    const struct operand operand = {.first = steps->count, .span = span};
    struct step *step = build_step(steps, DO_LOAD, span);
    step->source = FROM_NAME;
    step->index = index;
    return operand;
}

struct operand build_constant(struct steps *steps, struct value value, struct span span)
{
    const struct operand operand = {
        .kind = value.kind == VALUE_BOOLEAN ? CONDITION : ANY, .first = steps->count, .span = span};
    struct step *step = build_step(steps, DO_LOAD, span);
    step->source = FROM_CONSTANT;
    step->as.constant = value;
    return operand;
}

static bool is_constant_number(const struct step *step)
{
    return step->source == FROM_CONSTANT && number_is(&step->as.constant);
}

/* An operation on numbers that are all known is done now; if it fails, that waits until it is
 * evaluated, which may never be. It began at step `first`. */
static void fold(struct steps *steps, size_t first)
{
    struct step *load = &steps->items[first];
    const struct steps two = {steps->text, load, 2};
    struct value value;
    if (steps->count != first + 2 || load->operation != DO_LOAD || !is_constant_number(load) ||
        !(load[1].operation == DO_NEGATE ||
          (load[1].operation < DO_EQUAL && is_constant_number(&load[1]))) ||
        steps_run(&two, NULL, &value, NULL) != 0)
        return;
    load->as.constant = value;
    steps->count--;
}

void build_unary(struct steps *steps, enum operation operation, unsigned start,
                 struct operand *operand)
{
    struct step *step = build_step(steps, operation, operand->span);
    operand->span.start = start;
    operand->kind = operation == DO_NOT ? COMPARISON : ANY;
    step->right = operand->span;
    fold(steps, operand->first);
}

void build_binary(struct steps *steps, enum operation operation, struct operand *left,
                  const struct operand *right)
{
    struct step *step = &steps->items[steps->count - 1];
    if (steps->count != right->first + 1 || step->operation != DO_LOAD)
        step = build_step(steps, operation, left->span);
    step->operation = operation; /* of a load, which becomes the right operand */
    step->left = left->span;
    step->right = right->span;
    left->kind = operation >= DO_EQUAL ? COMPARISON : ANY;
    left->span.end = right->span.end;
    fold(steps, left->first);
}

/* The part of an operand that a message names if it is not a condition. */
static struct span tested(const struct operand *operand)
{
    return operand->kind == UNCHECKED ? operand->unchecked : operand->span;
}

size_t build_branch(struct steps *steps, enum operation operation, const struct operand *condition)
{
    (void)build_step(steps, operation, tested(condition));
    return steps->count - 1;
}

void build_target(struct steps *steps, size_t branch)
{
    steps->items[branch].index = (unsigned)steps->count;
}

void build_check(struct steps *steps, struct operand *operand)
{
    if (operand->kind == ANY || operand->kind == UNCHECKED)
        (void)build_step(steps, DO_CONDITION, tested(operand));
    operand->kind = CONDITION;
}
