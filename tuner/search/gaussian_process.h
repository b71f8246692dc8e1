/*
 * A Gaussian process: predicts the target of any point from those of some (Rasmussen and Williams,
 * Gaussian processes for machine learning, 2006). Targets have a mean of 0 and a variance of about
 * 1. Its rows are the points that it predicts from. They come one by one, each at a cost of the
 * square of their number, and their targets may come later.
 */
#ifndef AUTOTUNE_GAUSSIAN_PROCESS_H
#define AUTOTUNE_GAUSSIAN_PROCESS_H

#include "search/covariance.h"

#include <stddef.h>
#include <stdint.h>

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
 * (Ginsbourger, Le Riche and Carraro, Kriging is well-suited to parallelize optimization, 2010). */
void gaussian_process_tell(struct gaussian_process *process, const double *targets);

/* The same, but each row has a known number, the drift, with which its target may grow: kriging
 * with external drift (Chiles and Delfiner, Geostatistics, 1999). Returns the slope, at least 0.
 * Later predictions exclude the drift: add the slope times the point's own number. */
double gaussian_process_tell_drift(struct gaussian_process *process, const double *targets,
                                   const double *drift);

/* For many predictions from the same rows: their covariances' inverse times the targets, one number
 * for each row, and with these the predicted target of a point. */
void gaussian_process_solve(const struct gaussian_process *process, double *solution);
double gaussian_process_mean(const struct gaussian_process *process, const double *solution,
                             const uint32_t *point);

#endif
