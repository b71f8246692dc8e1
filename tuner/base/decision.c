#include "base/decision.h"

#include <math.h>

double decision_evaluate(const struct decision_step *steps, size_t count, const double *values)
{
    double stack[DECISION_DEPTH];
    double *top = stack; /* the next free place; the parser keeps it within bounds */
    for (const struct decision_step *step = steps; step < steps + count; step++) {
        switch (step->operation) {
        case DECISION_PUSH:
            *top++ = step->number;
            break;
        case DECISION_VALUE:
            *top++ = values[step->value];
            break;
#define TAKE_1 const double a = top[-1];
#define TAKE_2 const double a = top[-2], b = top[-1];
#define TAKE_3 const double a = top[-3], b = top[-2], c = top[-1];
#define X(name, arity, result)                                                                     \
    case DECISION_##name: {                                                                        \
        TAKE_##arity top -= (arity)-1;                                                             \
        top[-1] = (result);                                                                        \
        break;                                                                                     \
    }
            DECISION_OPERATIONS(X)
#undef X
        }
    }
    return top[-1];
}
