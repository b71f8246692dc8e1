/* How many variants a space has: counted if that is quick, otherwise estimated. */
#ifndef AUTOTUNE_SPACE_SIZE_H
#define AUTOTUNE_SPACE_SIZE_H

#include "base/error.h"
#include "template/space.h"

#include <stdint.h>

/*
 * Estimates the number of combinations of `space` that satisfy its constraints, more roughly if
 * space_limit() leaves little time; 0 if none was found. Returns 0, or an error as space_next() does.
 * Then only space_points() and space_free() may be called.
 *
 * Combinations are drawn at random. Where nearly all are rejected, random ways down the tree of
 * partial combinations are weighted by the inverse of their probability instead: Knuth, Estimating
 * the efficiency of backtrack programs, 1975.
 */
int space_size_estimate(struct space *space, const struct value_list *values, size_t dimensions,
                        double *size, struct error *error);

#endif
