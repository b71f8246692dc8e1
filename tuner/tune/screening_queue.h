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
    size_t compiled; /* so many of these wait no longer */
    size_t *ready;   /* compiled */
    size_t ready_count;
    uint64_t seen; /* what there was when `ready` was last filled */
};

void screening_queue_release(struct screening_queue *queue);

/* Adds a variant that is to be compiled. */
void screening_queue_add(struct screening_queue *queue, size_t index);

/* Adds one that was taken and is to be tried again. Others go first: what disturbed it may not be over. */
void screening_queue_return(struct screening_queue *queue, size_t index);

/* Has everything compiled, and by a search proposed, that GPUs can begin soon. */
int screening_queue_fill(struct screening_queue *queue, struct error *error);

/* Takes a variant that is compiled; false if there is none. */
bool screening_queue_take(struct screening_queue *queue, size_t *index);

bool screening_queue_is_empty(const struct screening_queue *queue);

/* Waits until something happens: another variant may be compiled then. At `until_ns` at the latest. */
int screening_queue_wait(struct screening_queue *queue, int64_t until_ns, struct error *error);

#endif
