/*
 * Estimates how long a configuration takes at a size: a sum of a few terms, each a figure of the
 * size and of the launch times a factor that is fitted to the measured times. A rule that compares
 * such estimates knows what the number of blocks, and the work of each, do to every configuration.
 */
#ifndef AUTOTUNE_TIME_MODEL_H
#define AUTOTUNE_TIME_MODEL_H

#include "cover/rule.h"

#include <stdbool.h>
#include <stddef.h>

enum { TIME_MODEL_TERMS = 12 };

/* What models are made from. */
struct time_basis {
    const double *times_ns; /* [configuration * sizes + size], as in losses.h */
    size_t sizes;
    struct features terms; /* each of one configuration; their values are at least 0 */
};

struct time_model {
    size_t terms[TIME_MODEL_TERMS]; /* indices */
    double factors[TIME_MODEL_TERMS];
    size_t count; /* 0: too little is known */
};

/*
 * Fits models[i] to the times of configuration i, for each, at the sizes with `kept[size]` at which it was
 * measured. Factors are positive. Terms are added as long as they lower the relative error at sizes
 * left out (the PRESS statistic, Allen 1974).
 *
 * What all configurations share at a size, such as the time that a kernel of any shape takes to start,
 * does not decide between them. It is taken out of the times, so that all terms go into the differences;
 * with several configurations, estimates are therefore times only up to a factor that they share.
 */
void time_models_fit(struct time_model *models, const struct time_basis *basis,
                     size_t configurations, const bool *kept);

/* A factor with four digits: what is written is what is used. */
double time_model_rounded(double factor);

/* In nanoseconds; INFINITY if the model has no terms. */
double time_model_estimate(const struct time_model *model, const struct time_basis *basis,
                           size_t size);

/* Terms `from` to `to` - 1, "2910 + 41.5 * whole_waves * k": an expression of their texts. A new
 * string. */
char *time_model_text(const struct time_model *model, const struct time_basis *basis, size_t from,
                      size_t to);

#endif
