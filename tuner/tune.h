/*
 * Tuning one plan on a GPU: every variant is loaded, verified and screened as its cubin comes from
 * the compiler; those that could still win meet in the finals; the verdict goes into the plan's
 * study. Everything is put into the record as it happens, so that a run that is stopped goes on
 * where it was.
 */
#ifndef AUTOTUNE_TUNE_H
#define AUTOTUNE_TUNE_H

#include "device.h"
#include "error.h"
#include "plan.h"
#include "pool.h"
#include "progress.h"
#include "race.h"
#include "record.h"
#include "timings.h"

/* What all plans of a run share. */
struct tuning {
    struct pool *pool;
    struct device *device;
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
int tune_plan(struct tuning *tuning, struct plan *plan, struct error *error);

/* Requests the compile job of the tuner's own kernels. */
int tune_request_support(struct pool *pool, struct compile_job **job, struct error *error);

#endif
