#include "search/history.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

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

static void find_best(struct history *history)
{
    history->best = POINT_NONE;
    for (size_t i = 0; i < history->told_count; i++) {
        double time = history->times[history->told[i]];
        if (isfinite(time) && (history->best < 0 || time < history->times[history->best]))
            history->best = (ptrdiff_t)history->told[i];
    }
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
    if (!isnan(before))
        find_best(history);
    else if (isfinite(time_ns) && (history->best < 0 || time_ns < history->times[history->best]))
        history->best = (ptrdiff_t)position;
}
