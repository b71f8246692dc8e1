/*
 * Chooses which points of a space to measure next, from the times measured so far.
 *
 *     search_new, search_know
 *     search_tell for everything already known
 *     search_propose, search_tell in any order, until the budget ends or nothing is proposed
 *     search_free
 *
 * Proposals may stay outstanding while others are told; tell each of them in the end, if only as
 * failed. The same space, seed and sequence of calls give the same proposals.
 */
#ifndef AUTOTUNE_SEARCH_H
#define AUTOTUNE_SEARCH_H

#include "base/error.h"
#include "search/search_space.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct search;
struct search_strategy;

/* The name of a strategy; NULL from the number of strategies on. The first is the one shipped. */
const char *search_strategy_name(size_t index);

/* NULL gives the shipped strategy; an unknown name gives NULL. */
const struct search_strategy *search_strategy_find(const char *name);

struct search_options {
    const struct search_strategy *strategy; /* NULL: the shipped one */
    uint64_t seed;
    size_t evaluations; /* how many are planned, as far as is known; 0: unknown */
};

/* The time of a point that failed: compile error, wrong result, constraint on registers, … */
#define SEARCH_FAILED INFINITY

/* The space is borrowed until search_free(), and used by one search at a time. */
struct search *search_new(struct search_space *space, const struct search_options *options);
void search_free(struct search *search); /* NULL is allowed */

/* Results of the same parameters from elsewhere: on another GPU, for another problem, of an older
 * version of the kernel. `points` and `times_ns` are copied. Call it once per source, before
 * anything is proposed. The search relies on these results only as far as they agree with what it
 * is told. */
void search_know(struct search *search, const uint32_t *points, const double *times_ns,
                 size_t count);

/*
 * Proposes up to `count` points into `points` (count * dimensions indices). They differ from each
 * other, and from all that were proposed or told before. Returns how many; fewer than `count` only
 * if no others are left, or time is over (search_space_limit()). Otherwise ERROR_CONFIG if a constraint
 * cannot be evaluated, or ERROR_INTERRUPTED.
 */
int search_propose(struct search *search, size_t count, uint32_t *points, struct error *error);

/* Whether the point was proposed or told. */
bool search_has(const struct search *search, const uint32_t *point);

/* The time of a point in nanoseconds, above 0, or SEARCH_FAILED. The point need not have been
 * proposed; one told before gets the new time. */
void search_tell(struct search *search, const uint32_t *point, double time_ns);

/*
 * How near to the best of its space a search has probably come, by how long it has found nothing
 * better.
 *
 * A search that goes on finding better points has not come near; one that tried a hundred more in
 * vain probably has. How many it takes is not derived but measured, by replaying searches on spaces
 * in which every point is known (tests/bench/estimate.c): of each of the statements below, more than
 * 90 % held over all of them.
 */

/*
 * The times of `count` points in the order in which they were tried, INFINITY for those that failed.
 * Returns b if the fastest point is slower than the optimum by a share of at most b, with 90 %
 * confidence: 0.01, 0.03 or 0.1. NAN: too little is known. `*in_vain` is how many were tried since
 * the last improvement by 0.1 % or more.
 */
double search_estimate(const double *times_ns, size_t count, size_t *in_vain);

#endif
