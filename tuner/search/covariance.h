/*
 * How alike the times of two points are expected to be: the covariance function of a Gaussian
 * process (Rasmussen and Williams, Gaussian processes for machine learning, 2006), normalised to 1
 * for equal points.
 *
 * It is a product over the parameters of
 *     1 - w + w exp(-d / l - t u)
 * where d is the distance of the two values: of their logarithms if all values are above 0, of
 * their ranks otherwise, scaled to 0 … 1; for values that are not all numbers, 0 or 1. u is the
 * distance of the powers of two that divide them: a block of 96 threads has more in common with one
 * of 160 than with one of 100. w is the parameter's relevance: multiplied out, the product has main
 * effects and interactions of every order, each with a weight of its own (an ANOVA kernel; Durrande
 * and others, 2012). w, l and t are learnt for each parameter.
 */
#ifndef AUTOTUNE_COVARIANCE_H
#define AUTOTUNE_COVARIANCE_H

#include "search/search_space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The unbounded forms of what is learnt about a parameter: w as its logit, l and t as logarithms. */
enum { COVARIANCE_RELEVANCE, COVARIANCE_LENGTH, COVARIANCE_TWOS, COVARIANCE_LEARNT };

/* A parameter with more than one value. */
struct covariance_parameter {
    size_t index; /* in a point */
    size_t count; /* of values */
    bool ordered;
    double *coordinates; /* of each value, 0 … 1 */
    double *twos;        /* likewise; all 0 if that is no news */
    double learnt[COVARIANCE_LEARNT];
    float *factors;                     /* of each pair of values; NULL: computed when needed */
    float (*slopes)[COVARIANCE_LEARNT]; /* likewise, see covariance_slopes() */
};

struct covariance {
    struct covariance_parameter *parameters;
    size_t count;
    double noise; /* logarithm of the variance that parameters do not explain */
};

/* Starts with what is likely before anything is measured. */
void covariance_init(struct covariance *covariance, const struct search_space *space);
void covariance_release(struct covariance *covariance);

/* To be called after each change of what was learnt; with `slopes`, also for covariance_slopes(). */
void covariance_update(struct covariance *covariance, bool slopes);

double covariance_of(const struct covariance *covariance, const uint32_t *a, const uint32_t *b);

/* The derivatives of the covariance's logarithm with respect to what was learnt about parameter
 * `index`. */
void covariance_slopes(const struct covariance *covariance, size_t index, const uint32_t *a,
                       const uint32_t *b, double slopes[COVARIANCE_LEARNT]);

/* Everything learnt, one by one: a pointer to number `index`, and the density before anything is
 * measured: a normal distribution. */
struct covariance_prior {
    double mean;
    double deviation;
};
size_t covariance_learnt_count(const struct covariance *covariance);
double *covariance_learnt(struct covariance *covariance, size_t index);
struct covariance_prior covariance_prior(const struct covariance *covariance, size_t index);

/* The sum over the parameters of the distances of a's and b's values, each 0 … 1. */
double covariance_distance(const struct covariance *covariance, const uint32_t *a,
                           const uint32_t *b);

#endif
