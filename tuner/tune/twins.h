/*
 * Twins: variants of a problem with the same machine code and launches, by their run_hash. One of
 * them is run; the others are its duplicates (study_link_twins() gives them its time). The compiler decides
 * which one is run, but the result is the first one's in the sweep's order, so that the same sweep always has
 * the same winner.
 *
 *     twins_init
 *     twins_wait for each variant before it is run; true: leave it out
 *     twins_conclude for each whose wait is over, in order: when nothing is running any more, or, in
 *         a search, which learns from it, at once
 *     twins_release
 */
#ifndef AUTOTUNE_TWINS_H
#define AUTOTUNE_TWINS_H

#include "tune/tuning_job.h"

#include <stdbool.h>
#include <stddef.h>

struct twins {
    struct tuning_job *job;
    void *by_hash; /* tsearch's tree: the twin that is run */
    bool *waiting; /* by the index of a result, as far as any waits */
    size_t count;
};

/* Variants that are known, from the record, have been run. `job` must outlive the twins. */
void twins_init(struct twins *twins, struct tuning_job *job);
void twins_release(struct twins *twins);

/* Whether a compiled variant has a twin that was run, or is being run; it then waits for the result
 * of that one. */
bool twins_wait(struct twins *twins, size_t index);

/* Whether a variant waits for a result that is there. */
bool twins_is_over(struct twins *twins, size_t index);

/* The one of its twins that is run, by now: itself, if it has none. */
size_t twins_run(struct twins *twins, size_t index);

/* Ends a variant whose wait is over, or if it comes before its twin, gives it the twin's result and
 * ends the twin. Returns the index of the duplicate. */
size_t twins_conclude(struct twins *twins, size_t index);

#endif
