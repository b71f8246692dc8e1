/*
 * The variants that a job begins with: every one of its space, or, for a search, those that the
 * record has. What the record says of them is taken over; other results are dropped, as are those
 * that missed a lower time limit than this run's, and duplicates without their twin. A stored verdict
 * holds if it is on exactly the variants that the job begins with.
 */
#ifndef AUTOTUNE_JOB_SPACE_H
#define AUTOTUNE_JOB_SPACE_H

#include "base/error.h"
#include "tune/tuning_job.h"

#include <stddef.h>
#include <stdint.h>

/* ERROR_MEMORY if what all variants need is more than the GPU has; else 0. The device worker checks against the
 * free memory. */
int job_memory_check(const struct tuning_job *job, struct error *error);

/* Enumerates the space. Returns 0 or ERROR_CONFIG if a constraint fails or the space has more than
 * 10^7 variants after constraints. */
int job_space_enumerate(struct tuning_job *job, struct error *error);

/* Begins a search, of at most `evaluations` variants (0: any number) with those that are known. The size
 * of the space is estimated if it cannot be counted by `end_ns`, on clock_ns().
 * Returns 0 or ERROR_CONFIG if a constraint fails. */
int job_space_search(struct tuning_job *job, size_t evaluations, int64_t end_ns,
                     struct error *error);

#endif
