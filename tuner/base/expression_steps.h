/*
 * What the two halves of base/expression.h share: expression.c compiles a text to steps for a stack of
 * values, expression_steps.c evaluates them and has the functions. Evaluating allocates nothing and
 * changes nothing but the result, takes each step at most once, and is the same in every locale.
 *
 * To add a function: write call_NAME(), add it to the table in the .c, to the helpers of
 * command/export_cover.c, and to docs/expressions.md.
 */
#ifndef AUTOTUNE_EXPRESSION_STEPS_H
#define AUTOTUNE_EXPRESSION_STEPS_H

#include "base/error.h"
#include "base/value.h"

#include <stdbool.h>
#include <stddef.h>

/* Operations up to DO_GREATER_EQUAL have two operands; those from DO_EQUAL to DO_GREATER_EQUAL
 * compare them. */
enum operation {
    DO_ADD,
    DO_SUBTRACT,
    DO_MULTIPLY,
    DO_DIVIDE,
    DO_FLOOR_DIVIDE,
    DO_MODULO,
    DO_POWER,
    DO_EQUAL,
    DO_DIFFERENT,
    DO_LESS,
    DO_LESS_EQUAL,
    DO_GREATER,
    DO_GREATER_EQUAL,
    DO_LOAD,      /* pushes the operand */
    DO_NEGATE,    /* the top becomes -top */
    DO_NOT,       /* the top, a condition, becomes its opposite */
    DO_CONDITION, /* the top becomes true or false */
    DO_AND,       /* a false condition stays and jumps; a true one is dropped */
    DO_OR,        /* a true condition stays and jumps; a false one is dropped */
    DO_CHOSEN,    /* like DO_OR, but any value except false stays: `or` in `condition and a or b` */
    DO_BRANCH,    /* drops the condition; jumps if it was false */
    DO_JUMP,
    DO_CALL, /* the topmost values, which are the arguments, become the result */
};

/* Where DO_LOAD takes its operand from, and a binary operation its right one. */
enum operand_source { FROM_STACK, FROM_NAME, FROM_CONSTANT };

/* A part of the expression's text. */
struct span {
    unsigned start, end;
};

/* Two arguments of printf, for %.*s. */
#define SPAN_TEXT(text, span) (int)((span).end - (span).start), (text) + (span).start

struct step {
    enum operation operation;
    enum operand_source source;
    unsigned index;          /* of the name; of the step to jump to */
    unsigned count;          /* of arguments */
    struct span left, right; /* the operands, for messages; of DO_NEGATE, `right` is the whole */
    union {
        struct value constant; /* a word belongs to the expression */
        const struct expression_function *function;
    } as;
};

struct steps {
    const char *text; /* of the expression, for messages; borrowed */
    struct step *items;
    size_t count;
};

/* The largest number of values that the stack must hold. */
enum { STEPS_STACK_LIMIT = 256 };
size_t steps_stack_needed(const struct steps *steps);

/*
 * Evaluates steps that need at most STEPS_STACK_LIMIT values. `values` are those of the names. A
 * word in `result` belongs to the steps or to `values`. Returns 0, or ERROR_CONFIG without a place:
 * an operand of the wrong kind, a division by zero, a whole number that does not fit in 64 bits.
 */
int steps_run(const struct steps *steps, const struct value *const *values, struct value *result,
              struct error *error);

/* What an expression was compiled to; it has at least one step. */
struct expression;
const struct steps *expression_steps(const struct expression *expression);

/* Whether `word` is true, yes, false or no, and which of them it means. */
bool steps_truth(const char *word, bool *truth);

/* Whether `value` is a condition: true or false, or a word that steps_truth() knows. */
bool steps_condition(const struct value *value, bool *truth);

/* Returns ERROR_CONFIG, without a place, because the value of `text` is not a condition; says what
 * to write instead. */
int steps_not_a_condition(const char *text, size_t length, const struct value *value,
                          struct error *error);

struct expression_call {
    const char *name; /* for messages */
    const struct value *arguments;
    size_t count;
    struct error *error;
};

struct expression_function {
    const char *name;
    size_t least, most; /* number of arguments; call() relies on it */
    /* Returns 0, or ERROR_CONFIG, without a place, for an argument of the wrong kind or out of
     * range, or for a result that does not fit in 64 bits. `result` may be the first argument. */
    int (*call)(const struct expression_call *call, struct value *result);
};

/* The function called `name`; NULL if there is none. */
const struct expression_function *expression_function_find(const char *name);

/* The name of one after the other; NULL behind the last. */
const char *expression_function_name(size_t index);

/* Returns ERROR_CONFIG, without a place, because no function is called `name`; suggests the nearest
 * one. */
int expression_function_unknown(const char *name, struct error *error);

#endif
