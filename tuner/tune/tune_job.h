/*
 * Tuning one job on a GPU: every variant is loaded, verified and screened as soon as it is
 * compiled; the variants that could still win are measured in the finals; the verdict goes into the
 * job's study. Everything is recorded as it happens, so a run that was stopped resumes where it
 * was.
 */
#ifndef AUTOTUNE_TUNE_JOB_H
#define AUTOTUNE_TUNE_JOB_H

#include "base/error.h"
#include "compile/compile_pool.h"
#include "tune/tuning.h"
#include "tune/tuning_job.h"

/* Requests the first variants that a search proposes by `end_ns` (on clock_ns()), so that they are
 * compiled by the time that tune_job() wants them. */
int tune_job_prepare(struct tuning_job *job, struct compile_pool *pool, int64_t end_ns,
                     struct error *error);

/*
 * Returns 0 with the study complete (and a winner, if any variant was valid), or not complete if
 * time ran out before a search found anything valid; ERROR_INTERRUPTED;
 * ERROR_MEMORY if this problem does not fit on the GPU, though the next may; or an error that ends
 * the run: a fault in the template, a worker that cannot be started, the record.
 */
int tune_job(struct tuning *tuning, struct tuning_job *job, struct error *error);

/* Requests the compile job of the tuner's own kernels for an architecture. */
int tune_job_request_support(struct compile_pool *pool, const char *arch,
                             struct compile_job **compile, struct error *error);

#endif
