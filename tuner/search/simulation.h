/* A space in which every point was measured, to try searches on: the configurations of a T4 results
 * file and their times. */
#ifndef AUTOTUNE_SIMULATION_H
#define AUTOTUNE_SIMULATION_H

#include "base/error.h"
#include "search/search.h"
#include "search/search_space.h"
#include "template/value_list.h"

#include <stddef.h>
#include <stdint.h>

struct measured_space {
    char **names;              /* of the parameters */
    struct value_list *values; /* of each, numbers in ascending order */
    struct point_table points;
    double *times_ns; /* of each point; INFINITY: failed */
    struct search_space *space;
    double optimum_ns; /* the shortest time */
    double median_ns;  /* of the points that did not fail */
};

/* Reads the T4 file at `path`; of results with equal parameters the first counts. Returns 0, or
 * ERROR_CONFIG with the file: not a T4 file, results with different parameters, or none correct. */
int measured_space_read(const char *path, struct measured_space *measured, struct error *error);
void measured_space_release(struct measured_space *measured);

/* The time of one of the space's points. */
double measured_space_time(const struct measured_space *measured, const uint32_t *point);

/* Replays a search on a space in which every point was measured, to see how good its strategy is. */

struct simulation_options {
    const struct search_strategy *strategy;
    const size_t *budgets; /* numbers of evaluations, ascending */
    size_t budget_count;
    size_t repeats; /* searches, each with a seed of its own */
    size_t batch;   /* proposals at a time; their times are told together */
    uint32_t seed;
    const struct measured_space *known; /* results from elsewhere; NULL: none */
};

/*
 * What the searches had found after one budget. The share is the optimum's time over that of the
 * fastest point found, 0 if there is none. The gap is how much of the way from the median point to
 * the optimum is closed, 0 if none of it is. Points that failed count as evaluations.
 */
struct simulation_result {
    double share_mean;
    double share_min;
    double share_p5; /* 5th percentile */
    double gap_mean;
    double cpu_us; /* CPU time that the search took per evaluation */
};

/* `results` has one element per budget. Returns 0, or an error as search_propose() does. */
int simulation_run(const struct measured_space *measured, const struct simulation_options *options,
                   struct simulation_result *results, struct error *error);

#endif
