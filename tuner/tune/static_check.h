/*
 * Static mode: every variant of a job is compiled for an architecture, and its registers, spills,
 * shared memory and theoretical occupancy go into the study. Nothing is run.
 */
#ifndef AUTOTUNE_STATIC_CHECK_H
#define AUTOTUNE_STATIC_CHECK_H

#include "base/error.h"
#include "compile/compile_pool.h"
#include "record/record.h"
#include "tune/compile_ahead.h"
#include "tune/progress.h"
#include "tune/timings.h"
#include "tune/tuning_job.h"

/* What all jobs of a run share. */
struct static_check {
    struct compile_pool *pool;
    struct compile_ahead *ahead;
    struct record *record;
    struct progress *progress;
    struct timings *timings;
};

/* Decides what can be decided without running a compiled variant; also the first step of measuring
 * it. True if it should run; otherwise it is concluded. */
bool static_check_variant(struct tuning_job *job, size_t index);

/* The compiler's first error, or how its worker ended. */
void static_check_compile_reason(const struct compile_job *compile, char *reason, size_t size);

/* Returns 0 with the study complete, ERROR_INTERRUPTED, or the template's or the record's fault. */
int static_check_job(struct static_check *check, struct tuning_job *job, struct error *error);

#endif
