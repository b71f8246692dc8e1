/*
 * Points that may be proposed, with what a Gaussian process predicts for them. Predictions are kept
 * and extended, not made anew: a row that is added costs each candidate as many steps as there are
 * rows.
 */
#ifndef AUTOTUNE_CANDIDATES_H
#define AUTOTUNE_CANDIDATES_H

#include "search/gaussian_process.h"
#include "search/search_space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct candidates {
    struct point_table points;
    size_t capacity;  /* candidates at most */
    size_t row_count; /* of the process, which predictions include */
    size_t solved;    /* candidates with predictions */
    float *shares;    /* for each row, and each candidate: the factor's inverse times covariances */
    float *means;     /* predicted targets */
    double *expected; /* from elsewhere (known_results.h); for the model to set */
    float *variances; /* of the predictions, relative to the process's */
    bool *closed;     /* not to be proposed */
    bool *expanded;   /* its neighbours are candidates too */
};

void candidates_init(struct candidates *candidates, size_t dimensions, size_t capacity,
                     size_t row_capacity);
void candidates_release(struct candidates *candidates);
void candidates_clear(struct candidates *candidates);

/* Adds a point unless it is a candidate already or there is no room. It has no predictions until
 * candidates_predict(). */
void candidates_add(struct candidates *candidates, const uint32_t *point);

/* Makes predictions for new candidates, and extends all to rows that were added to the process. */
void candidates_predict(struct candidates *candidates, const struct gaussian_process *process);

/* The same if the process was told targets. */
void candidates_weigh(struct candidates *candidates, const struct gaussian_process *process);

/* The standard deviation of a candidate's prediction. */
double candidates_deviation(const struct candidates *candidates,
                            const struct gaussian_process *process, size_t index);

#endif
