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
#ifndef AUTOTUNE_KNOWN_RESULTS_H
#define AUTOTUNE_KNOWN_RESULTS_H

#include "search/gaussian_process.h"
#include "search/history.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
