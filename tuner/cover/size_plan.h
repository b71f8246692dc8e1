/*
 * Decides which sizes of a range to measure: first its corners and an even spread between them,
 * then those at which the answer is most uncertain. Deterministic.
 */
#ifndef AUTOTUNE_SIZE_PLAN_H
#define AUTOTUNE_SIZE_PLAN_H

#include "base/error.h"
#include "cover/problem_range.h"

#include <stddef.h>

/* Adds sizes until `sizes` has `count`, or the range has no more. Returns 0, or ERROR_CONFIG if a
 * constraint cannot be evaluated, or none of the range's sizes satisfies the constraints. */
int size_plan_first(const struct problem_range *range, size_t count, struct sizes *sizes,
                    struct error *error);

/* How much of the range each size represents: the share of evenly spread sizes to which it is the
 * nearest. All are above 0. */
int size_plan_weights(const struct problem_range *range, const struct sizes *sizes, double *weights,
                      struct error *error);

/* What is known of the sizes measured so far. */
struct size_doubts {
    const struct sizes *sizes;
    const struct sizes *left_out; /* not to be chosen, and nothing near them */
    const double *expected;       /* what the cover loses at each, left out */
    const double *crossed;        /* [a * count + b]: what the choice for size a loses at size b */
};

/*
 * Chooses the next `count` sizes, or fewer if more are not worth it, into the empty list `next`.
 * They are far from the sizes that were measured, in places where these disagree about the
 * configuration, or where the rule failed when they were left out.
 */
int size_plan_next(const struct problem_range *range, const struct size_doubts *doubts,
                   size_t count, struct sizes *next, struct error *error);

#endif
