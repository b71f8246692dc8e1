/* The configurations that are measured at every size, because they did well at one of those that were tuned. */
#ifndef AUTOTUNE_NOMINEES_H
#define AUTOTUNE_NOMINEES_H

#include "cover/problem_range.h"
#include "record/study.h"
#include "template/value.h"

#include <stdbool.h>
#include <stddef.h>

enum { NOMINEES_LIMIT = 32 /* as many configurations as a cover can have */ };

struct nominees {
    struct bindings *items;
    size_t count;
};

/* Adds a copy unless it has them already; returns whether it did. */
bool nominees_add(struct nominees *nominees, const struct bindings *parameters);
bool nominees_has(const struct nominees *nominees, const struct bindings *parameters);
void nominees_release(struct nominees *nominees);

/* The median time of each nominee in each study, [nominee * count + study]; TIME_FAILED for what
 * failed, TIME_RULED_OUT for what a constraint rules out, TIME_MISSING for what was not tried. A new
 * array. */
double *nominees_times(const struct nominees *nominees, const struct study *studies, size_t count);

/*
 * Nominates configurations from `sizes->count` studies, one for each size. Of those that are among the
 * fastest at some size: at most `limit` that together lose least, and then the fastest, the second, … of
 * each size, while there are fewer than `most`; what is best between two sizes is often second or third at
 * both. `limit` is 1 to NOMINEES_LIMIT, `most` at most that. If one was not tried at a size, its loss is
 * estimated from the nearest sizes at which it was. What is in `refuted` is not
 * nominated.
 *
 * Existing `nominees` stay. Returns whether any was added.
 */
bool nominees_nominate(struct nominees *nominees, const struct nominees *refuted,
                       const struct study *studies, const struct sizes *sizes, size_t limit,
                       size_t most);

#endif
