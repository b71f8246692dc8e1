/*
 * The configurations that a cover may choose from: those that did well at one of the sizes that were
 * tuned. Each is then measured at every size.
 */
#ifndef AUTOTUNE_NOMINEES_H
#define AUTOTUNE_NOMINEES_H

#include "cover/problem_range.h"
#include "record/study.h"
#include "template/value.h"

#include <stdbool.h>
#include <stddef.h>

enum { NOMINEES_LIMIT = 32 };

struct nominees {
    struct bindings *items;
    size_t count;
};

/* Adds a copy unless it has them already; returns whether it did. */
bool nominees_add(struct nominees *candidates, const struct bindings *parameters);
void nominees_release(struct nominees *candidates);

/* The median time of each candidate in each study, [candidate * count + study]; TIME_FAILED for what
 * failed, TIME_RULED_OUT for what a constraint rules out, TIME_MISSING for what was not tried. A new
 * array. */
double *nominees_times(const struct nominees *candidates, const struct study *studies,
                       size_t count);

/*
 * Nominates configurations from `sizes->count` studies, one for each size: of those that are among
 * the fastest at some size, at most `limit` (1 to NOMINEES_LIMIT) that together lose least. If one was not tried at a
 * size, its loss is estimated from the nearest sizes at which it was. `weights` has one weight per
 * size.
 *
 * Existing `candidates` stay; others are added if they are worth it. Returns whether any was.
 */
bool nominees_nominate(struct nominees *candidates, const struct study *studies,
                       const struct sizes *sizes, const double *weights, size_t limit);

#endif
