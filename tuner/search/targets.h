/* What a model of times predicts in their place: a search has no use for how slow the slow are. */
#ifndef AUTOTUNE_TARGETS_H
#define AUTOTUNE_TARGETS_H

#include <stddef.h>

/*
 * From times (INFINITY: failed, NAN: not known yet; at least one is finite) to targets: logarithms,
 * cut off above the median by half of its distance to the fastest; failures count as slow as the
 * third quartile. Targets are shifted and scaled to a mean of 0 and a variance of 1. NAN stays NAN.
 */
void targets_from_times(const double *times_ns, size_t count, double *targets);

#endif
