/* Times by rank. */
#ifndef AUTOTUNE_RANKING_H
#define AUTOTUNE_RANKING_H

#include <stddef.h>
#include <stdint.h>

/* The positions of the times, the shortest first, and equal ones by position; a new array. */
size_t *ranking_new(const double *times, size_t count);

/* If there are more than `most`, replaces the second half of the first `most` positions by a random
 * sample of all from there on. `*random` is the state of statistics_random(). */
void ranking_sample(size_t *ranking, size_t count, size_t most, uint64_t *random);

#endif
