#include "search/strategy.h"

#include "base/alloc.h"
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>

/* --- the history --- */

void history_init(struct history *history, size_t dimensions)
{
    *history = (struct history){.points.dimensions = dimensions, .best = POINT_NONE};
}

void history_release(struct history *history)
{
    point_table_release(&history->points);
    free(history->times);
    free(history->told);
    history_init(history, history->points.dimensions);
}

bool history_has(const struct history *history, const uint32_t *point)
{
    return point_table_find(&history->points, point) != POINT_NONE;
}

void history_add(struct history *history, const uint32_t *point)
{
    size_t count = point_table_add(&history->points, point);
    *ARRAY_APPEND(history->times, count) = NAN;
}

void history_tell(struct history *history, const uint32_t *point, double time_ns)
{
    if (!history_has(history, point))
        history_add(history, point);
    size_t position = (size_t)point_table_find(&history->points, point);
    double before = history->times[position];
    history->times[position] = time_ns;
    history->tellings++;
    if (isnan(before))
        *ARRAY_APPEND(history->told, history->told_count) = position;
    history->failed_count += isinf(time_ns) ? 1 : 0;
    history->failed_count -= isinf(before) ? 1 : 0;
    if (!isnan(before)) {
        history->best = POINT_NONE;
        for (size_t i = 0; i < history->told_count; i++) {
            double time = history->times[history->told[i]];
            if (isfinite(time) && (history->best < 0 || time < history->times[history->best]))
                history->best = (ptrdiff_t)history->told[i];
        }
    } else if (isfinite(time_ns) &&
               (history->best < 0 || time_ns < history->times[history->best])) {
        history->best = (ptrdiff_t)position;
    }
}

/* --- ranking --- */

struct ranked {
    double time;
    size_t position;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *left = a;
    const struct ranked *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return (left->position > right->position) - (left->position < right->position);
}

size_t *ranking_new(const double *times, size_t count)
{
    struct ranked *ranked = alloc_zeroed(count, sizeof *ranked);
    size_t *ranking = alloc_zeroed(count, sizeof *ranking);
    for (size_t i = 0; i < count; i++)
        ranked[i] = (struct ranked){times[i], i};
    qsort(ranked, count, sizeof *ranked, compare_ranked);
    for (size_t i = 0; i < count; i++)
        ranking[i] = ranked[i].position;
    free(ranked);
    return ranking;
}

void ranking_sample(size_t *ranking, size_t count, size_t most, uint64_t *random)
{
    for (size_t i = most / 2; i < most && most < count; i++) {
        size_t other = i + random_below(random, count - i);
        size_t moved = ranking[i];
        ranking[i] = ranking[other];
        ranking[other] = moved;
    }
}

/* --- targets --- */

void targets_from_times(const double *times_ns, size_t count, double *targets)
{
    double *sorted = alloc_zeroed(count, sizeof *sorted);
    size_t finite = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(times_ns[i]))
            sorted[finite++] = log(times_ns[i]);
    statistics_sort(sorted, finite);
    double median = statistics_quantile(sorted, finite, 0.5);
    const double cut = median + 0.5 * (median - sorted[0]);
    const double failed = fmin(statistics_quantile(sorted, finite, 0.75), cut);
    free(sorted);
    double sum = 0;
    double square = 0;
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        targets[i] = NAN;
        if (isnan(times_ns[i]))
            continue;
        targets[i] = isinf(times_ns[i]) ? failed : fmin(log(times_ns[i]), cut);
        targets[i] -= cut; /* near 0, so that squares keep their digits */
        sum += targets[i];
        square += targets[i] * targets[i];
        known++;
    }
    double mean = sum / (double)known;
    double deviation = sqrt(fmax(square / (double)known - mean * mean, 1e-12));
    for (size_t i = 0; i < count; i++)
        targets[i] = (targets[i] - mean) / deviation;
}
