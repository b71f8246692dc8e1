/* Times by rank. */
#ifndef AUTOTUNE_RANKING_H
#define AUTOTUNE_RANKING_H

#include <stddef.h>
#include <stdint.h>

/* The positions of the times, the shortest first, equal ones by position; a new array. */
size_t *ranking_new(const double *times, size_t count);

/* If there are more than `most`, makes the positions from half of `most` on a random sample of those
 * that follow. `*random` is the state of statistics_random(). */
void ranking_sample(size_t *ranking, size_t count, size_t most, uint64_t *random);

#endif
