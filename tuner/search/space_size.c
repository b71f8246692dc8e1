#include "search/space_size.h"

#include "base/interrupt.h"
#include "search/random_number.h"

#include <stdbool.h>

enum {
    DRAWS = 20000,
    DRAWS_LEAST = 1000, /* however little time there is */
    ACCEPTED = 200,     /* of them, for an estimate to 10 % or so */
    PROBES = 2000,
    PROBED_VALUES = 1000000 /* by all probes together */
};

/* Whether a combination at random satisfies the constraints. */
static int draw(struct space *space, const struct value_list *values, size_t dimensions,
                uint64_t *random, struct error *error)
{
    int status = 1;
    for (size_t i = 0; i < dimensions && status == 1; i++)
        status = space_bind(space, i, random_below(random, values[i].count), error);
    return status;
}

/* The product of the numbers of values that are allowed on a random way down the tree; 0 at a dead
 * end. */
static int probe(struct space *space, const struct value_list *values, size_t dimensions,
                 uint64_t *random, double *weight, struct error *error)
{
    *weight = 1;
    for (size_t i = 0; i<dimensions && * weight> 0; i++) {
        size_t allowed = 0;
        size_t chosen = 0;
        int status = 0;
        for (size_t value = 0; value < values[i].count && status >= 0; value++) {
            status = space_bind(space, i, value, error);
            if (status == 1 && random_below(random, ++allowed) == 0)
                chosen = value;
        }
        *weight *= (double)allowed;
        if (status >= 0 && allowed > 0)
            status = space_bind(space, i, chosen, error);
        if (status < 0)
            return status;
    }
    return 0;
}

static int estimate_by_probes(struct space *space, const struct value_list *values,
                              size_t dimensions, uint64_t *random, double *size,
                              struct error *error)
{
    size_t probes = 0;
    size_t probed = 0;
    *size = 0;
    for (; probes < PROBES && probed < PROBED_VALUES && (probes == 0 || !space_is_over(space));
         probes++) {
        double weight;
        int status = probe(space, values, dimensions, random, &weight, error);
        if (status < 0)
            return status;
        *size += weight;
        for (size_t i = 0; i < dimensions; i++)
            probed += values[i].count;
    }
    *size /= (double)probes;
    return 0;
}

int space_size_estimate(struct space *space, const struct value_list *values, size_t dimensions,
                        double *size, struct error *error)
{
    uint64_t random = UINT64_C(0x9e3779b97f4a7c15);
    size_t accepted = 0;
    int drawn = 0;
    for (; drawn < DRAWS && (drawn < DRAWS_LEAST || !space_is_over(space)); drawn++) {
        int status = interrupt_requested() ? error_set(error, ERROR_INTERRUPTED, "interrupted")
                                           : draw(space, values, dimensions, &random, error);
        if (status < 0)
            return status;
        accepted += status == 1;
    }
    *size = (double)space_points(space) * (double)accepted / drawn;
    if (accepted >= ACCEPTED || space_is_over(space))
        return 0;
    return estimate_by_probes(space, values, dimensions, &random, size, error);
}
