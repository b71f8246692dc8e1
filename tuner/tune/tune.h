/*
 * Tuning one job on a GPU: every variant is loaded, verified and screened as its cubin comes from
 * the compiler; those that could still win meet in the finals; the verdict goes into the job's
 * study. Everything is put into the record as it happens, so that a run that is stopped goes on
 * where it was.
 */
#ifndef AUTOTUNE_TUNE_H
#define AUTOTUNE_TUNE_H

#include "base/error.h"
#include "compile/compile_pool.h"
#include "record/record.h"
#include "tune/gpu_client.h"
#include "tune/progress.h"
#include "tune/race.h"
#include "tune/timings.h"
#include "tune/tuning_job.h"

/* What all jobs of a run share. */
struct tuning {
    struct compile_pool *pool;
    struct gpu_client *client;
    struct record *record;
    struct compile_job *support; /* the tuner's own kernels */
    struct progress *progress;
    struct timings *timings;
    struct race_rules rules;
    double launch_timeout_s;
};

/*
 * Returns 0 with the study complete (its winner, if any variant was valid); ERROR_INTERRUPTED;
 * ERROR_MEMORY where there is no room for this problem, though there may be for the next; or what
 * makes going on pointless: a template's fault, a worker that cannot be started, the record.
 */
int tune_job(struct tuning *tuning, struct tuning_job *job, struct error *error);

/* Requests the compile job of the tuner's own kernels. */
int tune_request_support(struct compile_pool *pool, struct compile_job **compile,
                         struct error *error);

#endif
