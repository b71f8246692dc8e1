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
#include "tune/tuning_job.h"

/* What all jobs of a run share. */
struct static_check {
    struct compile_pool *pool;
    struct compile_ahead *ahead;
    struct progress *progress;
    struct timings *timings;
    struct record *record;
    int64_t busy_ns; /* in the coordinator, without waiting for the compiler */
    size_t checked;  /* variants */
};

/* Decides what can be decided without running a compiled variant; also the first step of measuring
 * it. True if it should run; otherwise it is concluded. */
bool static_check_variant(struct tuning_job *job, size_t index);

/* The compiler's first error, or how its worker ended. */
void static_check_compile_reason(const struct compile_job *compile, char *reason, size_t size);

/* Variants of each job that are compiled and checked before all others: from them, the time left is
 * estimated. */
enum { STATIC_SAMPLE = 16 };

/* Checks the variants of job->order: a sample, and in a second call the rest, with which the study is
 * complete. Both return 0, ERROR_INTERRUPTED, or the template's or the record's fault. */
int static_check_sample(struct static_check *check, struct tuning_job *job, struct error *error);
int static_check_rest(struct static_check *check, struct tuning_job *job, struct error *error);

#endif
