#include "search/candidates.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

void candidates_init(struct candidates *candidates, size_t dimensions, size_t capacity,
                     size_t row_capacity)
{
    *candidates = (struct candidates){.points.dimensions = dimensions, .capacity = capacity};
    candidates->shares = alloc_zeroed(capacity * row_capacity, sizeof *candidates->shares);
    candidates->means = alloc_zeroed(capacity, sizeof *candidates->means);
    candidates->variances = alloc_zeroed(capacity, sizeof *candidates->variances);
    candidates->closed = alloc_zeroed(capacity, sizeof *candidates->closed);
    candidates->expanded = alloc_zeroed(capacity, sizeof *candidates->expanded);
}

void candidates_release(struct candidates *candidates)
{
    point_table_release(&candidates->points);
    free(candidates->shares);
    free(candidates->means);
    free(candidates->variances);
    free(candidates->closed);
    free(candidates->expanded);
}

void candidates_clear(struct candidates *candidates)
{
    point_table_release(&candidates->points);
    candidates->row_count = candidates->solved = 0;
}

void candidates_add(struct candidates *candidates, const uint32_t *point)
{
    if (candidates->points.count == candidates->capacity ||
        point_table_find(&candidates->points, point) != POINT_NONE)
        return;
    size_t index = point_table_add(&candidates->points, point);
    candidates->means[index] = 0;
    candidates->variances[index] = 1;
    candidates->closed[index] = candidates->expanded[index] = false;
}

/* values[i] += factor * shares[i] */
static void add_scaled(float *restrict values, const float *restrict shares, float factor,
                       size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] += factor * shares[i];
}

/* Extends the predictions of the candidates from `first` to `stop` to one row: a step of forward
 * substitution. */
static void solve_row(struct candidates *candidates, const struct gaussian_process *process,
                      size_t index, size_t first, size_t stop)
{
    size_t count = stop - first;
    float *shares = candidates->shares + index * candidates->capacity + first;
    const double *row = gaussian_process_row(process, index);
    const uint32_t *point = process->points + index * process->dimensions;
    for (size_t i = 0; i < count; i++)
        shares[i] = (float)covariance_of(&process->covariance, point,
                                         point_table_at(&candidates->points, first + i));
    for (size_t j = 0; j < index; j++)
        add_scaled(shares, candidates->shares + j * candidates->capacity + first, (float)-row[j],
                   count);
    float inverse = (float)(1 / row[index]);
    float *variances = candidates->variances + first;
    for (size_t i = 0; i < count; i++) {
        shares[i] *= inverse;
        variances[i] -= shares[i] * shares[i];
    }
}

static void weigh_from(struct candidates *candidates, const struct gaussian_process *process,
                       size_t first)
{
    for (size_t i = first; i < candidates->solved; i++)
        candidates->means[i] = 0;
    for (size_t row = 0; row < candidates->row_count; row++)
        add_scaled(candidates->means + first,
                   candidates->shares + row * candidates->capacity + first,
                   (float)process->weights[row], candidates->solved - first);
}

void candidates_predict(struct candidates *candidates, const struct gaussian_process *process)
{
    size_t first = candidates->solved;
    for (size_t row = candidates->row_count; row < process->count; row++)
        solve_row(candidates, process, row, 0, first);
    candidates->row_count = process->count;
    candidates->solved = candidates->points.count;
    for (size_t row = 0; row < process->count && first < candidates->solved; row++)
        solve_row(candidates, process, row, first, candidates->solved);
    weigh_from(candidates, process, first);
}

void candidates_weigh(struct candidates *candidates, const struct gaussian_process *process)
{
    weigh_from(candidates, process, 0);
}

double candidates_deviation(const struct candidates *candidates,
                            const struct gaussian_process *process, size_t index)
{
    return sqrt(fmax((double)candidates->variances[index], 1e-9) * process->variance);
}
