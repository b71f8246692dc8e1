/*
 * The trials of a screening, on every GPU of the team: each GPU's part runs as a task (base/task.h) and
 * takes variants from the same queue.
 */
#ifndef AUTOTUNE_SCREENING_RUN_H
#define AUTOTUNE_SCREENING_RUN_H

#include "base/error.h"
#include "tune/screener.h"

/* Tries everything in the queue, and releases it. A closer look is the leading GPU's alone, because it
 * compares closely. Errors as gpu_client_trial_take() and compile_pool_wait(). */
int screening_run(struct screening *screening, struct error *error);

#endif
