/*
 * What a search by predictions knows: a Gaussian process of the times so far, and candidates with
 * its predictions.
 *
 * The cost of an update does not depend on the space. It grows with the square of the number of
 * rows, the points that the process predicts from, which is limited: when there are too many, the
 * faster half of some of them and a sample of the others take their place.
 */
#ifndef AUTOTUNE_MODEL_H
#define AUTOTUNE_MODEL_H

#include "base/error.h"
#include "search/candidates.h"
#include "search/gaussian_process.h"
#include "search/strategy.h"

#include <stddef.h>
#include <stdint.h>

struct model {
    struct gaussian_process process;
    struct candidates candidates;
    size_t *positions; /* of each row in the history */
    double *times;     /* of each row */
    double *targets;
    double *expected;     /* of each row, from elsewhere (known_results.h), … */
    double slope;         /* and how much a target grows with it */
    size_t taken;         /* points of the history that are rows, or were considered for it */
    size_t tellings;      /* that the targets include */
    size_t next_learning; /* points told until then */
    ptrdiff_t best;       /* position of the point whose neighbours are candidates */
    uint32_t *point;      /* working storage */
    double *scores;       /* of each candidate, likewise */
};

void model_init(struct model *model, const struct search_space *space);
void model_release(struct model *model);

/* The predicted target of a candidate. */
double model_mean(const struct model *model, size_t index);

/* Takes what was proposed and told since the last update; at least one point has a time. Returns 0,
 * or an error as search_propose() does. */
int model_update(struct model *model, struct strategy_context *context, struct error *error);

#endif
