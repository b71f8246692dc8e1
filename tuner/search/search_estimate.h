/*
 * How near to the best of its space a search has probably come, by how long it has found nothing
 * better.
 *
 * A search that goes on finding better points has not come near; one that tried a hundred more in
 * vain probably has. How many it takes is not derived but measured, by replaying searches on spaces
 * in which every point is known (tests/bench/estimate.c): of each of the statements below, more than
 * 90 % held over all of them.
 */
#ifndef AUTOTUNE_SEARCH_ESTIMATE_H
#define AUTOTUNE_SEARCH_ESTIMATE_H

#include <stddef.h>

/*
 * The times of `count` points in the order in which they were tried, INFINITY for those that failed.
 * Returns b if the fastest point is slower than the optimum by a share of at most b, with 90 %
 * confidence: 0.01, 0.03 or 0.1. NAN: too little is known. `*in_vain` is how many were tried since
 * the last improvement by 0.1 % or more.
 */
double search_estimate(const double *times_ns, size_t count, size_t *in_vain);

#endif
