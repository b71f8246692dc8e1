/*
 * The strategies of a search; the one that draws at random is in search.c. To add one, write its
 * functions in search/strategy_NAME.c, declare it here, and add a line to the table in search.c;
 * `autotune simulate --strategy NAME` then measures it.
 */
#ifndef AUTOTUNE_STRATEGY_H
#define AUTOTUNE_STRATEGY_H

#include "base/error.h"
#include "search/gaussian_process.h"
#include "search/search_space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- history.c --- */

/* What a search knows: the points it proposed or was told, and the times of the latter; their ranks, and what a model
 * makes of them. */
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
 * What a model of times predicts in their place: a search has no use for how slow the slow are. From times (INFINITY:
 * failed, NAN: not known yet; at least one is finite) to targets: logarithms, cut off above the median by half of its
 * distance to the fastest; failures count as slow as the third quartile. Targets are shifted and scaled to a mean of 0 and a variance of 1. NAN stays NAN.
 */
void targets_from_times(const double *times_ns, size_t count, double *targets);

/* --- known_results.c --- */

/*
 * Results of the same parameters from elsewhere: for another problem, on another GPU, or of an
 * older version of the kernel. Whether they say anything about the space at hand is not known
 * beforehand. So a search begins with the fastest of them and with points of its own, and then
 * relies on the source whose times rank the first evaluations most nearly as measured, if any
 * agrees well enough.
 *
 *     known_results_add             for each source
 *     known_results_suggest         for some of the first points
 *     known_results_choose          whenever there are new times
 *     known_results_expect          of the chosen source
 *     known_results_release
 */
struct known_source {
    struct point_table points;
    double *targets;                 /* of each point: targets_from_times() */
    size_t *ranking;                 /* positions of the points, the fastest first */
    size_t succeeded, suggested;     /* so many of these */
    bool learnt;                     /* the rest is set */
    struct gaussian_process process; /* predicts where nothing was measured */
    double *weights;                 /* gaussian_process_solve() */
};

struct known_results {
    struct known_source *sources;
    size_t count;
    struct known_source *chosen; /* NULL: none of them */
};

void known_results_release(struct known_results *known);

/* Adds a source: `count` points of `dimensions` indices, and their times (INFINITY: failed). Of
 * equal points, the first counts. A source whose points all failed is ignored; one with few times
 * only suggests points. */
void known_results_add(struct known_results *known, size_t dimensions, const uint32_t *points,
                       const double *times_ns, size_t count);

/* The fastest point not suggested yet, of each source in turn; NULL once enough were suggested.
 */
const uint32_t *known_results_suggest(struct known_results *known);

/* Chooses a source by the first points that have times. `space` is the one that the points are
 * of. */
void known_results_choose(struct known_results *known, const struct history *history,
                          const struct search_space *space);

/* The chosen source's target for a point, measured or predicted from its other points; 0 if no
 * source is chosen. */
double known_results_expect(const struct known_results *known, const uint32_t *point);

/* --- strategies --- */

/* What a strategy works with; the search owns it. */
struct strategy_context {
    struct search_space *space;
    const struct history *history;
    struct known_results *known; /* from elsewhere */
    size_t evaluations;          /* planned; 0: unknown */
    uint64_t random;             /* the state of statistics_random() */
};

struct search_strategy {
    const char *name;

    /* Its state, for a context that outlives it. NULL functions: it has none. */
    void *(*new)(struct strategy_context *context);
    void (*free)(void *state);

    /* Chooses one point that the history does not have. Returns 1; 0 if none is left; an error as
     * search_propose() does. */
    int (*choose)(void *state, struct strategy_context *context, uint32_t *point,
                  struct error *error);
};

extern const struct search_strategy strategy_model;

/* A random point that the history does not have. Returns as `choose` does. */
int strategy_draw(struct strategy_context *context, uint32_t *point, struct error *error);

#endif
