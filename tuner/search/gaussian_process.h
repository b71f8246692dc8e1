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
#ifndef AUTOTUNE_GAUSSIAN_PROCESS_H
#define AUTOTUNE_GAUSSIAN_PROCESS_H

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
    float *factors; /* of each pair of values; NULL: computed when needed */
    float (*slopes)
        [COVARIANCE_LEARNT]; /* likewise: the derivatives of the factor's logarithm by what was learnt */
};

struct covariance {
    struct covariance_parameter *parameters;
    size_t count;
    double noise; /* logarithm of the variance that parameters do not explain */
};

double covariance_of(const struct covariance *covariance, const uint32_t *a, const uint32_t *b);

/* The sum over the parameters of the distances of a's and b's values, each 0 … 1. */
double covariance_distance(const struct covariance *covariance, const uint32_t *a,
                           const uint32_t *b);

/*
 * A Gaussian process: predicts the target of any point from those of some (Rasmussen and Williams,
 * Gaussian processes for machine learning, 2006). Targets have a mean of 0 and a variance of about
 * 1. Its rows are the points that it predicts from. They come one by one, each at a cost of the
 * square of their number, and their targets may come later.
 */

struct gaussian_process {
    struct covariance covariance;
    size_t dimensions;
    size_t capacity; /* rows at most */
    size_t count;
    uint32_t *points; /* of each row */
    double *factor;   /* row by row: Cholesky's factor of the rows' covariances and noise */
    double *weights;  /* of each row: the factor's inverse times the targets */
    double variance;  /* that predictions' variances are relative to */
};

void gaussian_process_init(struct gaussian_process *process, const struct search_space *space,
                           size_t capacity);
void gaussian_process_release(struct gaussian_process *process);

/* Drops the rows, and takes a changed covariance into use. */
void gaussian_process_clear(struct gaussian_process *process);

/* Adds a row, whose target is not known yet. */
void gaussian_process_add(struct gaussian_process *process, const uint32_t *point);

/* The row's part in the factor: `index` + 1 numbers. */
const double *gaussian_process_row(const struct gaussian_process *process, size_t index);

/* Sets the targets of all rows. NAN: not known yet; what the rows before predict is taken for it
 * (Ginsbourger, Le Riche and Carraro, Kriging is well-suited to parallelize optimization, 2010). With
 * `drift` (NULL: none), each row has a known number with which its target may grow: kriging with
 * external drift (Chiles and Delfiner, Geostatistics, 1999). Returns the slope, at least 0. Later
 * predictions exclude the drift: add the slope times the point's own number. */
double gaussian_process_tell(struct gaussian_process *process, const double *targets,
                             const double *drift);

/* For many predictions from the same rows: their covariances' inverse times the targets, one number
 * for each row, and with these the predicted target of a point. */
void gaussian_process_solve(const struct gaussian_process *process, double *solution);
double gaussian_process_mean(const struct gaussian_process *process, const double *solution,
                             const uint32_t *point);

/* Learns a covariance function from points and their targets, whose mean is 0: the most probable one,
 * given how probable each was before (Rasmussen and Williams 2006, section 5.4). `points[i]` has the
 * target `targets[i]`. Takes count^3 steps. Call gaussian_process_clear() when it returns. */
void likelihood_learn(struct covariance *covariance, const uint32_t *const *points,
                      const double *targets, size_t count);

/* --- candidates.c --- */

/*
 * Points that may be proposed, with what a Gaussian process predicts for them. Predictions are kept
 * and extended, not made anew: a row that is added costs each candidate as many steps as there are
 * rows.
 */
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
