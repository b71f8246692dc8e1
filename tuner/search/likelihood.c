#include "search/likelihood.h"

#include "base/alloc.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { ITERATIONS = 12 };

/* Square matrices are stored in rows, of which only the lower triangle is used. */
struct work {
    size_t count;
    double *covariance; /* without the noise */
    double *factor;     /* L of LL' = covariance and noise */
    double *inverse;    /* of L */
    double *precision;  /* inverse of LL' */
    double *weights;    /* precision times the targets */
    double variance;    /* of the targets; the covariance is relative to it */
};

static void work_init(struct work *work, size_t count)
{
    work->count = count;
    work->covariance = alloc_zeroed(count * count, sizeof(double));
    work->factor = alloc_zeroed(count * count, sizeof(double));
    work->inverse = alloc_zeroed(count * count, sizeof(double));
    work->precision = alloc_zeroed(count * count, sizeof(double));
    work->weights = alloc_zeroed(count, sizeof(double));
}

static void work_release(struct work *work)
{
    free(work->covariance);
    free(work->factor);
    free(work->inverse);
    free(work->precision);
    free(work->weights);
}

/* Cholesky's decomposition. */
static void decompose(struct work *work, double noise)
{
    size_t n = work->count;
    for (size_t i = 0; i < n; i++) {
        double *row = work->factor + i * n;
        for (size_t j = 0; j <= i; j++) {
            const double *other = work->factor + j * n;
            double sum = work->covariance[i * n + j] + (i == j ? noise : 0);
            for (size_t k = 0; k < j; k++)
                sum -= row[k] * other[k];
            row[j] = i == j ? sqrt(fmax(sum, 1e-9)) : sum / other[j];
        }
    }
}

/* The inverse of L, and from it the precision. */
static void invert(struct work *work)
{
    size_t n = work->count;
    for (size_t i = 0; i < n; i++) {
        double *row = work->inverse + i * n;
        double diagonal = 1 / work->factor[i * n + i];
        for (size_t j = 0; j <= i; j++) {
            row[j] = i == j ? diagonal : 0;
            work->precision[i * n + j] = 0;
        }
        for (size_t k = 0; k < i; k++) {
            const double *other = work->inverse + k * n;
            double scaled = work->factor[i * n + k] * diagonal;
            for (size_t j = 0; j <= k; j++)
                row[j] -= scaled * other[j];
        }
    }
    for (size_t k = 0; k < n; k++) {
        const double *row = work->inverse + k * n;
        for (size_t i = 0; i <= k; i++)
            for (size_t j = 0; j <= i; j++)
                work->precision[i * n + j] += row[i] * row[j];
    }
}

/* The targets' weights and variance; the latter as if there were one more target, of 1. */
static void weigh(struct work *work, const double *targets)
{
    size_t n = work->count;
    double square = 1;
    for (size_t i = 0; i < n; i++)
        work->weights[i] = 0;
    for (size_t i = 0; i < n; i++) {
        const double *row = work->inverse + i * n;
        double sum = 0;
        for (size_t j = 0; j <= i; j++)
            sum += row[j] * targets[j];
        square += sum * sum;
        for (size_t j = 0; j <= i; j++)
            work->weights[j] += row[j] * sum;
    }
    work->variance = square / (double)(n + 1);
}

/* The pair's part in the derivatives with respect to what was learnt about each parameter. */
static void add_pair(const struct covariance *covariance, const uint32_t *a, const uint32_t *b,
                     double part, double *gradient)
{
    for (size_t i = 0; i < covariance->count; i++) {
        double slopes[COVARIANCE_LEARNT];
        covariance_slopes(covariance, i, a, b, slopes);
        for (int j = 0; j < COVARIANCE_LEARNT; j++)
            *gradient++ += part * slopes[j];
    }
}

/* The derivatives of minus the logarithm of the posterior density, up to a constant (Rasmussen and
 * Williams 2006, equation 5.9). */
static void find_gradient(const struct work *work, struct covariance *covariance,
                          const uint32_t *const *points, double *gradient)
{
    size_t n = work->count;
    size_t learnt = covariance_learnt_count(covariance);
    double noise = exp(covariance->noise);
    for (size_t i = 0; i < learnt; i++) {
        struct covariance_prior prior = covariance_prior(covariance, i);
        gradient[i] =
            (*covariance_learnt(covariance, i) - prior.mean) / (prior.deviation * prior.deviation);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double part =
                work->precision[i * n + j] - work->weights[i] * work->weights[j] / work->variance;
            if (i == j)
                gradient[learnt - 1] += 0.5 * part * noise;
            else
                add_pair(covariance, points[i], points[j], part * work->covariance[i * n + j],
                         gradient);
        }
    }
}

/* One step downhill, of a length that each coordinate learns from the signs of its slopes: Riedmiller
 * and Braun, A direct adaptive method for faster backpropagation learning: the RPROP algorithm,
 * 1993. Far from what was expected nothing is believed. */
static void descend(struct covariance *covariance, const double *gradient, double *previous,
                    double *steps)
{
    for (size_t i = 0; i < covariance_learnt_count(covariance); i++) {
        struct covariance_prior prior = covariance_prior(covariance, i);
        double *value = covariance_learnt(covariance, i);
        double sign = gradient[i] * previous[i];
        if (sign != 0)
            steps[i] = sign > 0 ? fmin(steps[i] * 1.3, 1) : steps[i] * 0.5;
        if (gradient[i] != 0)
            *value += gradient[i] > 0 ? -steps[i] : steps[i];
        *value =
            fmin(fmax(*value, prior.mean - 4 * prior.deviation), prior.mean + 4 * prior.deviation);
        previous[i] = gradient[i];
    }
}

void likelihood_learn(struct covariance *covariance, const uint32_t *const *points,
                      const double *targets, size_t count)
{
    struct work work;
    work_init(&work, count);
    size_t learnt = covariance_learnt_count(covariance);
    double *gradient = alloc_zeroed(learnt, sizeof *gradient);
    double *previous = alloc_zeroed(learnt, sizeof *previous);
    double *steps = alloc_zeroed(learnt, sizeof *steps);
    for (size_t i = 0; i < learnt; i++)
        steps[i] = 0.3;
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        covariance_update(covariance, true);
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j <= i; j++)
                work.covariance[i * count + j] = covariance_of(covariance, points[i], points[j]);
        decompose(&work, exp(covariance->noise));
        invert(&work);
        weigh(&work, targets);
        find_gradient(&work, covariance, points, gradient);
        descend(covariance, gradient, previous, steps);
    }
    free(gradient);
    free(previous);
    free(steps);
    work_release(&work);
}
