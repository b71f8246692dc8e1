#include "tune/screening_queue.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum {
    READY_VARIANTS = 2 /* compiled proposals that wait for a GPU: the search learns from each */
};

void screening_queue_release(struct screening_queue *queue)
{
    free(queue->waiting);
    free(queue->ready);
    *queue = (struct screening_queue){0};
}

void screening_queue_add(struct screening_queue *queue, size_t index)
{
    *ARRAY_APPEND(queue->waiting, queue->waiting_count) = index;
    queue->seen = 0;
}

void screening_queue_return(struct screening_queue *queue, size_t index)
{
    (void)ARRAY_APPEND(queue->ready, queue->ready_count);
    memmove(queue->ready + 1, queue->ready, (queue->ready_count - 1) * sizeof *queue->ready);
    queue->ready[0] = index;
}

/* Moves what is compiled from `waiting` to `ready`, unless there is enough for every GPU: it looks at
 * everything that is being compiled. */
static void collect_compiled(struct screening_queue *queue)
{
    const struct tuning_job *job = queue->job;
    size_t *waiting = queue->waiting;
    uint64_t seen = compile_pool_done_count(queue->tuning->pool) + job->requested;
    size_t begin = queue->compiled;
    size_t end = begin;
    if (seen == queue->seen || queue->ready_count >= READY_VARIANTS * queue->tuning->team->count)
        return;
    queue->seen = seen;
    while (end < queue->waiting_count && job->compile_jobs[waiting[end]] != NULL)
        end++;
    queue->compiled = end;
    for (size_t i = end; i-- > begin;)
        if (job->compile_jobs[waiting[i]]->done)
            *ARRAY_APPEND(queue->ready, queue->ready_count) = waiting[i];
        else
            waiting[--queue->compiled] = waiting[i];
}

/* Asks the search for more, so that the compile workers are busy and no GPU need wait, but for no more
 * than that. */
static int propose(struct screening_queue *queue, struct error *error)
{
    struct tuning *tuning = queue->tuning;
    struct tuning_job *job = queue->job;
    if (!queue->proposes || job->proposer == NULL)
        return 0;
    const size_t gpus = tuning->team->count;
    const size_t most = 2 * compile_pool_workers(tuning->pool) + gpus - 1;
    timings_stage(tuning->timings, TIMING_SEARCH);
    while (queue->ready_count < READY_VARIANTS * gpus &&
           queue->waiting_count - queue->compiled < most) {
        size_t index;
        int64_t end_ns = allowance_search_end(&tuning->allowance);
        int status = tuning_job_propose(job, end_ns, &index, error);
        if (status != 1)
            return status;
        screening_queue_add(queue, index);
        status = tuning_job_request(job, tuning->pool, index, error);
        if (status != 0)
            return status;
        collect_compiled(queue);
    }
    return 0;
}

int screening_queue_fill(struct screening_queue *queue, struct error *error)
{
    int status = compile_ahead_fill(queue->tuning->ahead, error);
    collect_compiled(queue);
    return status != 0 ? status : propose(queue, error);
}

bool screening_queue_take(struct screening_queue *queue, size_t *index)
{
    if (queue->ready_count == 0)
        return false;
    *index = queue->ready[--queue->ready_count];
    return true;
}

bool screening_queue_is_empty(const struct screening_queue *queue)
{
    return queue->compiled == queue->waiting_count && queue->ready_count == 0;
}

int screening_queue_wait(struct screening_queue *queue, int64_t until_ns, struct error *error)
{
    struct tuning *tuning = queue->tuning;
    struct tuning_job *job = queue->job;
    timings_stage(tuning->timings, TIMING_COMPILE);
    if (queue->compiled < queue->waiting_count) {
        size_t first = queue->waiting[queue->compiled];
        if (job->compile_jobs[first] == NULL) { /* others hold the compiler's queue */
            queue->seen = 0;
            return tuning_job_request(job, tuning->pool, first, error);
        }
    }
    return event_loop_step(tuning->loop, until_ns, error);
}
