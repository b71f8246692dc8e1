#include "compile/compile_estimate.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void compile_estimate_release(struct compile_estimate *estimate)
{
    free(estimate->kinds);
    *estimate = (struct compile_estimate){0};
}

size_t compile_estimate_kind(struct compile_estimate *estimate, const char *source_hash)
{
    for (size_t i = estimate->count; i-- > 0;)
        if (strcmp(estimate->kinds[i].source_hash, source_hash) == 0)
            return i;
    struct compile_kind *kind = ARRAY_APPEND(estimate->kinds, estimate->count);
    (void)snprintf(kind->source_hash, sizeof kind->source_hash, "%s", source_hash);
    return estimate->count - 1;
}

void compile_estimate_add(struct compile_estimate *estimate, size_t kind)
{
    estimate->kinds[kind].left++;
}

void compile_estimate_done(struct compile_estimate *estimate, size_t number, double seconds)
{
    struct compile_kind *kind = &estimate->kinds[number];
    kind->left--;
    kind->done++;
    kind->done_s += seconds;
}

/* The average of a kind, or of all kinds as long as none of its own is done. */
double compile_estimate_mean_s(const struct compile_estimate *estimate, size_t number)
{
    const struct compile_kind *kind = &estimate->kinds[number];
    size_t done = kind->done;
    double done_s = kind->done_s;
    for (size_t i = 0; i < estimate->count && kind->done == 0; i++) {
        done += estimate->kinds[i].done;
        done_s += estimate->kinds[i].done_s;
    }
    return done > 0 ? done_s / (double)done : 0;
}

double compile_estimate_left_s(const struct compile_estimate *estimate, size_t workers)
{
    double work_s = 0; /* of all workers together */
    for (size_t i = 0; i < estimate->count; i++)
        work_s += (double)estimate->kinds[i].left * compile_estimate_mean_s(estimate, i);
    return work_s / (double)workers;
}
