/*
 * The variants of a screening that no GPU has yet: those that the compiler has, and those that it is
 * done with. A search's proposals are added as they are needed.
 */
#ifndef AUTOTUNE_SCREENING_QUEUE_H
#define AUTOTUNE_SCREENING_QUEUE_H

#include "base/error.h"
#include "tune/tuning.h"
#include "tune/tuning_job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct screening_queue {
    struct tuning *tuning;
    struct tuning_job *job;
    bool proposes;   /* the job's search, if it has one, is asked for more */
    size_t *waiting; /* for the compiler; those that were requested come first */
    size_t waiting_count;
    size_t compiled; /* how many of these, from the first on, wait no longer */
    size_t *ready;   /* compiled, the next one last */
    size_t ready_count;
    uint64_t seen; /* jobs requested plus jobs done when `ready` was last filled; 0: look again */
};

void screening_queue_release(struct screening_queue *queue);

/* Adds a variant that is to be compiled. */
void screening_queue_add(struct screening_queue *queue, size_t index);

/* Adds one that was taken and is to be tried again. Others go first: what disturbed it may not be
 * over. */
void screening_queue_return(struct screening_queue *queue, size_t index);

/* Requests what GPUs can begin soon, and asks the job's search for more. Errors as
 * compile_ahead_fill() and tuning_job_request(). */
int screening_queue_fill(struct screening_queue *queue, struct error *error);

/* Takes a variant that is compiled; false if there is none. */
bool screening_queue_take(struct screening_queue *queue, size_t *index);

bool screening_queue_is_empty(const struct screening_queue *queue);

/* Waits until something happens, at most until `until_ns` (on clock_ns()): another variant may be
 * compiled then. Errors as event_loop_step(). */
int screening_queue_wait(struct screening_queue *queue, int64_t until_ns, struct error *error);

#endif
