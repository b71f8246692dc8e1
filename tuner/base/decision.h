/*
 * Expressions of a cover, compiled to small programs: the conditions of its rule, with the figures
 * that they name expanded. FORMATS.md specifies them; base/cover_section.h knows the names.
 *
 * All values are doubles, conditions 0 or 1. A value that cannot be computed is NAN, and every
 * comparison with it is false except "!=".
 *
 * libtuned contains this module: it never aborts, prints or allocates.
 */
#ifndef AUTOTUNE_DECISION_H
#define AUTOTUNE_DECISION_H

#include <stdbool.h>
#include <stddef.h>

enum {
    DECISION_TOKENS = 16384, /* of all expressions of a program, those of their figures included */
    DECISION_DEPTH = 64,     /* of parentheses, functions and figures, and of the stack */
    DECISION_FIGURES = 128,
    DECISION_CONFIGURATIONS = 32,
    DECISION_KEPT = 512, /* values of figures that are computed once */
    DECISION_MESSAGE_BYTES = 512
};

/* X(operation, values that it takes, its value from a, b and c) */
#define DECISION_OPERATIONS(X)                                                                     \
    X(NEGATE, 1, -a)                                                                               \
    X(NOT, 1, !(a > 0))                                                                            \
    X(FLOOR, 1, floor(a))                                                                          \
    X(CEIL, 1, ceil(a))                                                                            \
    X(ADD, 2, a + b)                                                                               \
    X(SUBTRACT, 2, a - b)                                                                          \
    X(MULTIPLY, 2, a *b)                                                                           \
    X(DIVIDE, 2, a / b)                                                                            \
    X(QUOTIENT, 2, floor(a / b))                                                                   \
    X(REMAINDER, 2, a - b * floor(a / b))                                                          \
    X(CEIL_DIV, 2, ceil(a / b))                                                                    \
    X(MIN, 2, a < b ? a : b)                                                                       \
    X(MAX, 2, a > b ? a : b)                                                                       \
    X(EQUAL, 2, !(a < b) && !(a > b) && !isunordered(a, b))                                        \
    X(UNEQUAL, 2, a<b || a> b || isunordered(a, b))                                                \
    X(LESS, 2, a < b)                                                                              \
    X(LESS_EQUAL, 2, a <= b)                                                                       \
    X(GREATER, 2, a > b)                                                                           \
    X(GREATER_EQUAL, 2, a >= b)                                                                    \
    X(AND, 2, a > 0 && b > 0)                                                                      \
    X(OR, 2, a > 0 || b > 0)                                                                       \
    X(SELECT, 3, a > 0 ? b : c)

enum decision_operation {
    DECISION_PUSH,  /* step.number */
    DECISION_VALUE, /* values[step.value] */
    DECISION_TAKE,  /* kept[step.value], … */
    DECISION_KEEP,  /* which an earlier step set to what is on top of the stack */
#define X(name, ...) DECISION_##name,
    DECISION_OPERATIONS(X)
#undef X
};

struct decision_step {
    enum decision_operation operation;
    unsigned value;
    double number;
};

/*
 * Steps in the caller's memory. Several expressions may share a program: a figure is computed where it
 * is first needed, and those who need it later take the same value. So they have to be evaluated in
 * order, with the same `kept`, and none may be left out before another.
 */
struct decision_program {
    struct decision_step *steps;
    size_t count, room;
    size_t tokens;     /* so far */
    size_t kept_count; /* each has a number of its own */
    unsigned short kept[DECISION_FIGURES]
                       [DECISION_CONFIGURATIONS]; /* 0: not kept; else 1 + where */
};

/* What follows does not rely on figures of earlier expressions. */
void decision_forget(struct decision_program *program);

/* What a name means. */
struct decision_name {
    enum {
        DECISION_UNKNOWN,
        DECISION_IS_VALUE,
        DECISION_IS_NUMBER,
        DECISION_IS_WORD,
        DECISION_IS_FIGURE
    } kind;
    unsigned value;   /* IS_VALUE: its index */
    double number;    /* IS_NUMBER */
    const char *text; /* IS_WORD; IS_FIGURE: its expression */
    size_t figure;    /* IS_FIGURE: its index, from 0 */
};

/*
 * Where names are looked up. find() is asked for the `length` letters at `name`, as figure `figure`
 * (SIZE_MAX: a line of the rule) sees it for a configuration.
 */
struct decision_scope {
    struct decision_name (*find)(const void *user, const char *name, size_t length,
                                 size_t configuration, size_t figure);
    const void *user;
    size_t configuration_count;
};

enum decision_type { DECISION_NUMBER, DECISION_CONDITION };

/* Appends the program of `text`, as a line that chooses `configuration` sees it. Returns false with
 * a message, and the program unfinished, if the text is wrong or too long. */
bool decision_compile(struct decision_program *program, const struct decision_scope *scope,
                      const char *text, size_t configuration, enum decision_type type,
                      char message[DECISION_MESSAGE_BYTES]);

/* The value of a compiled expression. `kept` has room for DECISION_KEPT values, which need not be set
 * before the first expression of a program. */
double decision_evaluate(const struct decision_step *steps, size_t count, const double *values,
                         double *kept);

#endif
