#include "search/gaussian_process.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void gaussian_process_init(struct gaussian_process *process, const struct search_space *space,
                           size_t capacity)
{
    *process = (struct gaussian_process){
        .dimensions = search_space_dimensions(space), .capacity = capacity, .variance = 1};
    covariance_init(&process->covariance, space);
    process->points = alloc_zeroed(capacity * process->dimensions, sizeof *process->points);
    process->factor = alloc_zeroed(capacity * capacity, sizeof *process->factor);
    process->weights = alloc_zeroed(capacity, sizeof *process->weights);
}

void gaussian_process_release(struct gaussian_process *process)
{
    covariance_release(&process->covariance);
    free(process->points);
    free(process->factor);
    free(process->weights);
    *process = (struct gaussian_process){0};
}

void gaussian_process_clear(struct gaussian_process *process)
{
    process->count = 0;
    covariance_update(&process->covariance, false);
}

static const uint32_t *point_of(const struct gaussian_process *process, size_t index)
{
    return process->points + index * process->dimensions;
}

const double *gaussian_process_row(const struct gaussian_process *process, size_t index)
{
    return process->factor + index * process->capacity;
}

void gaussian_process_add(struct gaussian_process *process, const uint32_t *point)
{
    size_t last = process->count++;
    process->weights[last] = 0;
    if (process->dimensions > 0)
        memcpy(process->points + last * process->dimensions, point,
               process->dimensions * sizeof *point);
    double *row = process->factor + last * process->capacity;
    double rest = 1 + exp(process->covariance.noise);
    for (size_t j = 0; j < last; j++) {
        const double *other = gaussian_process_row(process, j);
        double sum = covariance_of(&process->covariance, point, point_of(process, j));
        for (size_t k = 0; k < j; k++)
            sum -= row[k] * other[k];
        row[j] = sum / other[j];
        rest -= row[j] * row[j];
    }
    row[last] = sqrt(fmax(rest, 1e-6));
}

/* The factor's inverse times `values`; 0 where the target is not known. */
static void solve_forward(const struct gaussian_process *process, const double *targets,
                          const double *values, double *solution)
{
    for (size_t i = 0; i < process->count; i++) {
        solution[i] = 0;
        if (isnan(targets[i]))
            continue;
        const double *row = gaussian_process_row(process, i);
        double sum = values[i];
        for (size_t j = 0; j < i; j++)
            sum -= row[j] * solution[j];
        solution[i] = sum / row[i];
    }
}

/* From the weights, as if there were one more target, of 1. */
static void find_variance(struct gaussian_process *process, const double *targets)
{
    double square = 1;
    size_t known = 0;
    for (size_t i = 0; i < process->count; i++) {
        square += process->weights[i] * process->weights[i];
        known += isnan(targets[i]) ? 0 : 1;
    }
    process->variance = square / (double)(known + 1);
}

void gaussian_process_tell(struct gaussian_process *process, const double *targets)
{
    solve_forward(process, targets, targets, process->weights);
    find_variance(process, targets);
}

double gaussian_process_tell_drift(struct gaussian_process *process, const double *targets,
                                   const double *drift)
{
    double products = 0;
    double squares = 1; /* a slope of 0 is likely, too */
    double *weights = alloc_zeroed(process->count, sizeof *weights);
    solve_forward(process, targets, drift, weights);
    solve_forward(process, targets, targets, process->weights);
    for (size_t i = 0; i < process->count; i++) {
        products += weights[i] * process->weights[i];
        squares += weights[i] * weights[i];
    }
    double slope = fmax(products / squares, 0);
    for (size_t i = 0; i < process->count; i++)
        process->weights[i] -= slope * weights[i];
    find_variance(process, targets);
    free(weights);
    return slope;
}

void gaussian_process_solve(const struct gaussian_process *process, double *solution)
{
    for (size_t i = process->count; i-- > 0;) {
        double sum = process->weights[i];
        for (size_t j = i + 1; j < process->count; j++)
            sum -= gaussian_process_row(process, j)[i] * solution[j];
        solution[i] = sum / gaussian_process_row(process, i)[i];
    }
}

double gaussian_process_mean(const struct gaussian_process *process, const double *solution,
                             const uint32_t *point)
{
    double mean = 0;
    for (size_t i = 0; i < process->count; i++)
        mean += solution[i] * covariance_of(&process->covariance, point, point_of(process, i));
    return mean;
}
