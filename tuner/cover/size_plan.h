/* Which sizes of a range to measure: its corners, and an even spread between them. (To look where neighbours
 * disagree was no better: sgemm's configurations lost 1.9 % either way with 400 sizes, and 2.4 instead of
 * 2.2 % with 200.) */
#ifndef AUTOTUNE_SIZE_PLAN_H
#define AUTOTUNE_SIZE_PLAN_H

#include "base/error.h"
#include "cover/problem_range.h"

#include <stddef.h>

/* Adds sizes to an empty list until it has `count`, or the range has no more; the first ones are spread as
 * evenly as all. Always the same. Returns 0, or ERROR_CONFIG if a constraint cannot be evaluated, or none of
 * the range's sizes satisfies the constraints. */
int size_plan(const struct problem_range *range, size_t count, struct sizes *sizes,
              struct error *error);

#endif
