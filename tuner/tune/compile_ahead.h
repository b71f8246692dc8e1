/*
 * Keeps the compiler ahead of the GPU, over all jobs of a run in their order, but only so far ahead
 * that the memory of compile jobs does not grow with the space.
 */
#ifndef AUTOTUNE_COMPILE_AHEAD_H
#define AUTOTUNE_COMPILE_AHEAD_H

#include "base/error.h"
#include "compile/compile_pool.h"
#include "tune/tuning_job.h"

#include <stddef.h>

struct compile_ahead {
    struct compile_pool *pool;
    struct tuning_job *jobs;
    size_t job_count;
    size_t workers; /* of the pool, at most: none should wait for a request */
    size_t sample;  /* so many variants of each job before all others */
    size_t next;    /* the first that may have something to compile */
};

/* Requests the next compile job. Returns 1; 0 if none is left or enough are held; ERROR_INTERRUPTED or
 * the error of the request. */
int compile_ahead_next(struct compile_ahead *ahead, struct error *error);

/* Requests compile jobs until enough are held, to be called whenever one was dropped. Returns 0,
 * ERROR_INTERRUPTED or the error of the request. */
int compile_ahead_fill(struct compile_ahead *ahead, struct error *error);

/* How many variants have yet to be requested. */
size_t compile_ahead_left(const struct compile_ahead *ahead);

#endif
