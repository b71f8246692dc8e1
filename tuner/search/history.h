/* What a search knows: the points it proposed or was told, and the times of the latter; their ranks, and what a model
 * makes of them. */
#ifndef AUTOTUNE_HISTORY_H
#define AUTOTUNE_HISTORY_H

#include "search/search_space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct history {
    struct point_table points;
    double *times; /* of each point in nanoseconds; INFINITY: failed, NAN: pending */
    size_t *told;  /* positions of the points that have a time, in the order they were told */
    size_t told_count;
    size_t failed_count; /* of those */
    size_t tellings;     /* including those that gave a point a new time */
    ptrdiff_t best;      /* position of the fastest, or POINT_NONE */
};

void history_init(struct history *history, size_t dimensions);
void history_release(struct history *history);

bool history_has(const struct history *history, const uint32_t *point);

/* Adds a pending point, which the history must not have. */
void history_add(struct history *history, const uint32_t *point);

/* Sets a point's time, adding the point if it is new. */
void history_tell(struct history *history, const uint32_t *point, double time_ns);

/* The positions of the times, the shortest first, and equal ones by position; a new array. */
size_t *ranking_new(const double *times, size_t count);

/* If there are more than `most`, replaces the second half of the first `most` positions by a random
 * sample of all from there on. `*random` is the state of statistics_random(). */
void ranking_sample(size_t *ranking, size_t count, size_t most, uint64_t *random);

/*
 * What a model of times predicts in their place: a search has no use for how slow the slow are. From times (INFINITY: failed, NAN: not known yet; at least one is finite) to targets: logarithms,
 * cut off above the median by half of its distance to the fastest; failures count as slow as the
 * third quartile. Targets are shifted and scaled to a mean of 0 and a variance of 1. NAN stays NAN.
 */
void targets_from_times(const double *times_ns, size_t count, double *targets);

#endif
