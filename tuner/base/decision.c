#include "base/decision.h"

#include <math.h>

double decision_evaluate(const struct decision_step *steps, size_t count, const double *values,
                         double *kept)
{
    double stack[DECISION_DEPTH];
    size_t depth = 0; /* the parser keeps it within bounds */
    for (const struct decision_step *step = steps; step < steps + count; step++) {
        switch (step->operation) {
        case DECISION_PUSH:
            stack[depth++] = step->number;
            break;
        case DECISION_VALUE:
            stack[depth++] = values[step->value];
            break;
        case DECISION_TAKE:
            stack[depth++] = kept[step->value];
            break;
        case DECISION_KEEP:
            /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): a figure is behind its steps */
            kept[step->value] = stack[depth - 1];
            break;
#define TAKE_1 const double a = stack[depth];
#define TAKE_2 const double a = stack[depth], b = stack[depth + 1];
#define TAKE_3 const double a = stack[depth], b = stack[depth + 1], c = stack[depth + 2];
#define X(name, arity, result)                                                                     \
    case DECISION_##name: {                                                                        \
        depth -= (arity);                                                                          \
        TAKE_##arity stack[depth++] = (result);                                                    \
        break;                                                                                     \
    }
            /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): operands come before */
            DECISION_OPERATIONS(X)
#undef X
        }
    }
    return depth > 0 ? stack[depth - 1] : NAN;
}
