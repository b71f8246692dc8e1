/* What a search knows: the points it proposed or was told, and the times of the latter. */
#ifndef AUTOTUNE_HISTORY_H
#define AUTOTUNE_HISTORY_H

#include "search/point_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct history {
    struct point_table points;
    double *times; /* of each point in nanoseconds; INFINITY: failed, NAN: pending */
    size_t *told;  /* positions of the points that have a time, in the order they were told */
    size_t told_count;
    size_t failed_count; /* of those */
    size_t tellings;     /* including those that gave a point a new time */
    ptrdiff_t best;      /* position of the fastest, or POINT_NONE */
};

void history_init(struct history *history, size_t dimensions);
void history_release(struct history *history);

bool history_has(const struct history *history, const uint32_t *point);

/* Adds a pending point, which the history must not have. */
void history_add(struct history *history, const uint32_t *point);

/* Sets a point's time, adding the point if it is new. */
void history_tell(struct history *history, const uint32_t *point, double time_ns);

#endif
