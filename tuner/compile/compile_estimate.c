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

void compile_estimate_add(struct compile_estimate *estimate, size_t kind, enum compile_step step)
{
    estimate->kinds[kind].steps[step].left++;
}

void compile_estimate_done(struct compile_estimate *estimate, size_t kind, enum compile_step step,
                           double seconds)
{
    struct compile_progress *progress = &estimate->kinds[kind].steps[step];
    progress->left--;
    progress->done++;
    progress->done_s += seconds;
    progress->longest_s = fmax(progress->longest_s, seconds);
}

/* The average of a kind, or of all kinds as long as none of its own is done. */
double compile_estimate_mean_s(const struct compile_estimate *estimate, size_t kind,
                               enum compile_step step)
{
    struct compile_progress sum = estimate->kinds[kind].steps[step];
    for (size_t i = 0; i < estimate->count && estimate->kinds[kind].steps[step].done == 0; i++) {
        sum.done += estimate->kinds[i].steps[step].done;
        sum.done_s += estimate->kinds[i].steps[step].done_s;
    }
    return sum.done > 0 ? sum.done_s / (double)sum.done : 0;
}

/* The work of all workers together. */
static double work_s(const struct compile_estimate *estimate)
{
    double work = 0;
    for (size_t i = 0; i < estimate->count; i++) {
        size_t compiles = estimate->kinds[i].steps[COMPILE_STEP_COMPILE].left;
        size_t counts = estimate->kinds[i].steps[COMPILE_STEP_COUNT].left;
        counts += estimate->counting ? compiles : 0;
        work += (double)compiles * compile_estimate_mean_s(estimate, i, COMPILE_STEP_COMPILE) +
                (double)counts * compile_estimate_mean_s(estimate, i, COMPILE_STEP_COUNT);
    }
    return work;
}

/* The longest that a single job may still take: near the end, most workers wait for one. */
static double longest_s(const struct compile_estimate *estimate,
                        const struct compile_running *running, size_t running_count)
{
    double longest = 0;
    for (size_t i = 0; i < estimate->count; i++)
        for (int step = 0; step < COMPILE_STEPS; step++) {
            size_t queued = estimate->kinds[i].steps[step].left;
            for (size_t j = 0; j < running_count; j++)
                queued -= running[j].kind == i && (int)running[j].step == step;
            if (queued > 0)
                longest = fmax(longest, estimate->kinds[i].steps[step].longest_s);
        }
    for (size_t i = 0; i < running_count; i++)
        longest =
            fmax(longest, compile_estimate_mean_s(estimate, running[i].kind, running[i].step) -
                              running[i].elapsed_s);
    return longest;
}

double compile_estimate_left_s(const struct compile_estimate *estimate, size_t workers,
                               const struct compile_running *running, size_t running_count)
{
    double work = work_s(estimate);
    for (size_t i = 0; i < running_count; i++)
        work -= fmin(running[i].elapsed_s,
                     compile_estimate_mean_s(estimate, running[i].kind, running[i].step));
    return fmax(work / (double)workers, longest_s(estimate, running, running_count));
}
