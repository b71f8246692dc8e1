/* Whether a job's problem fits in the GPU's memory, before anything is compiled. */
#ifndef AUTOTUNE_JOB_MEMORY_H
#define AUTOTUNE_JOB_MEMORY_H

#include "base/error.h"
#include "tune/tuning_job.h"

/*
 * Finds the values of the parameters on which buffers and expected results depend for which these
 * need the most memory, and sets job->largest to them. They are taken from the job's variants or,
 * in a search, from the values that the constraints on these parameters allow. Returns 0, or
 * ERROR_MEMORY if that is more than the GPU has. The device worker checks against the free memory.
 */
int job_memory_check(struct tuning_job *job, struct error *error);

#endif
