#include "search/gaussian_process.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

void candidates_init(struct candidates *candidates, size_t dimensions, size_t capacity,
                     size_t row_capacity)
{
    *candidates = (struct candidates){.points.dimensions = dimensions, .capacity = capacity};
    candidates->shares = alloc_zeroed(capacity * row_capacity, sizeof *candidates->shares);
    candidates->means = alloc_zeroed(capacity, sizeof *candidates->means);
    candidates->expected = alloc_zeroed(capacity, sizeof *candidates->expected);
    candidates->variances = alloc_zeroed(capacity, sizeof *candidates->variances);
    candidates->closed = alloc_zeroed(capacity, sizeof *candidates->closed);
    candidates->expanded = alloc_zeroed(capacity, sizeof *candidates->expanded);
}

void candidates_release(struct candidates *candidates)
{
    point_table_release(&candidates->points);
    free(candidates->shares);
    free(candidates->means);
    free(candidates->expected);
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
    candidates->expected[index] = 0;
    candidates->variances[index] = 1;
    candidates->closed[index] = candidates->expanded[index] = false;
}

/* Adds `sign` times the row's factor times the shares of each of the first `rows` rows to the values of `count`
 * candidates from `first` on. Four rows at a time, because memory is what takes the time. */
static void add_rows(const struct candidates *candidates, size_t first, size_t count, size_t rows,
                     const double *factors, float sign, float *restrict values)
{
    size_t stride = candidates->capacity;
    size_t row = 0;
    for (; row + 4 <= rows; row += 4) {
        const float *restrict shares = candidates->shares + row * stride + first;
        float a = sign * (float)factors[row];
        float b = sign * (float)factors[row + 1];
        float c = sign * (float)factors[row + 2];
        float d = sign * (float)factors[row + 3];
        for (size_t i = 0; i < count; i++)
            values[i] += (a * shares[i] + b * shares[i + stride]) +
                         (c * shares[i + 2 * stride] + d * shares[i + 3 * stride]);
    }
    for (; row < rows; row++) {
        const float *restrict shares = candidates->shares + row * stride + first;
        float a = sign * (float)factors[row];
        for (size_t i = 0; i < count; i++)
            values[i] += a * shares[i];
    }
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
    add_rows(candidates, first, count, index, row, -1, shares);
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
    add_rows(candidates, first, candidates->solved - first, candidates->row_count, process->weights,
             1, candidates->means + first);
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
