#include "search/search_estimate.h"

#include <math.h>
#include <stdbool.h>

static const double improvement = 0.001;

static const struct {
    size_t in_vain;
    double within;
} levels[] = {{400, 0.01}, {150, 0.03}, {100, 0.1}};

double search_estimate(const double *times_ns, size_t count, size_t *in_vain)
{
    double best_ns = INFINITY;
    *in_vain = 0;
    for (size_t i = 0; i < count; i++) {
        bool better = times_ns[i] < best_ns * (1 - improvement);
        *in_vain = better || isinf(best_ns) ? 0 : *in_vain + 1;
        best_ns = fmin(best_ns, times_ns[i]);
    }
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (*in_vain >= levels[i].in_vain)
            return levels[i].within;
    return NAN;
}
