#include "compile/compile_estimate.h"

#include "base/alloc.h"

#include <math.h>
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
    kind->longest_s = fmax(kind->longest_s, seconds);
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

double compile_estimate_left_s(const struct compile_estimate *estimate, size_t workers,
                               const struct compile_running *running, size_t running_count)
{
    double work_s = 0;    /* of all workers together */
    double longest_s = 0; /* that a single job may still take: near the end, most wait for one */
    for (size_t i = 0; i < estimate->count; i++) {
        const struct compile_kind *kind = &estimate->kinds[i];
        size_t queued = kind->left;
        for (size_t j = 0; j < running_count; j++)
            queued -= running[j].kind == i;
        work_s += (double)kind->left * compile_estimate_mean_s(estimate, i);
        if (queued > 0)
            longest_s = fmax(longest_s, kind->longest_s);
    }
    for (size_t i = 0; i < running_count; i++) {
        double mean_s = compile_estimate_mean_s(estimate, running[i].kind);
        work_s -= fmin(running[i].elapsed_s, mean_s);
        longest_s = fmax(longest_s, mean_s - running[i].elapsed_s);
    }
    return fmax(work_s / (double)workers, longest_s);
}
