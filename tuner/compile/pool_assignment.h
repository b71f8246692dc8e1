/*
 * A job in the hands of a worker: the worker is given it, and answers, misses the deadline or is
 * lost. A job that two workers have ends with the first answer. Which worker gets which job is
 * pool_dispatch.h's.
 */
#ifndef AUTOTUNE_POOL_ASSIGNMENT_H
#define AUTOTUNE_POOL_ASSIGNMENT_H

#include "base/error.h"
#include "base/event_loop.h"
#include "compile/compile_pool_state.h"

/* Sends the job, which is not queued any more, to a worker that is not idle any more. */
void pool_assignment_begin(struct compile_pool *pool, struct pool_worker *worker,
                           struct pool_job *job);

/*
 * Takes what the worker has sent: its greeting, or the answer to its job. Returns 1 if it can have
 * its next job, 0 if it was lost, or an error that ends the run: ERROR_DEVICE if there is no NVRTC
 * or another one than the others', ERROR_WORKER if workers do not start, ERROR_RECORD if the cache
 * fails, ERROR_CONFIG if a header has changed. A worker that is lost is freed.
 */
int pool_assignment_take(struct pool_worker *worker, struct error *error);

/* For the event source of a worker: its deadline has passed. It is lost unless it, or this process,
 * had to wait for a processor. Returns 0, or an error as above. */
int pool_assignment_expire(struct event_source *source, struct error *error);

#endif
