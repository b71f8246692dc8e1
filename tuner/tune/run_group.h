/*
 * The part of a run that the GPUs of one model do: every job of the sweep, one after the other. The
 * groups of a run work at the same time.
 */
#ifndef AUTOTUNE_RUN_GROUP_H
#define AUTOTUNE_RUN_GROUP_H

#include "base/error.h"
#include "tune/run_state.h"

#include <stdbool.h>
#include <stddef.h>

/* Makes the group's jobs in `jobs`, which has room for all of the sweep. They stay where they are:
 * searches point to their jobs' values. Adds to `*total` how many variants are to be done, and sets
 * `*searched` if some are searched. */
int run_group_plan(struct run_group *group, struct tuning_job *jobs, size_t *total, bool *searched,
                   struct error *error);

/* Whether every job is complete. */
bool run_group_is_done(const struct run_group *group);

/* Completes the jobs on the GPUs of the group; `owner` is a struct run_group, so that this can be run
 * as a task. A job that does not fit in memory, or whose expected results cannot be made while there
 * are other jobs, is refused. Returns 0 or the error that ends the run. */
int run_group_tune(void *owner, struct error *error);

/* Completes the jobs in static mode. Errors as static_check_sample() and static_check_rest(). */
int run_group_check(struct run_group *group, struct error *error);

#endif
