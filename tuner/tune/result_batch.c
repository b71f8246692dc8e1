#include "tune/result_batch.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stdlib.h>

static int store(struct result_batch *batch, struct error *error)
{
    const struct tuning_job *job = batch->job;
    size_t count = batch->count;
    if (count == 0)
        return 0;
    enum timing_stage stage = batch->timings->stage;
    timings_stage(batch->timings, TIMING_RECORD);
    event_loop_remove(batch->loop, &batch->source);
    batch->count = 0;
    int status = record_results(batch->record, job->record_id, job->study.results, batch->indices,
                                count, "screening", error);
    batch->due_ns = clock_ns() + RESULT_BATCH_NS;
    timings_stage(batch->timings, stage);
    return status;
}

static int store_when_due(struct event_source *source, struct error *error)
{
    return store(source->owner, error);
}

int result_batch_add(struct result_batch *batch, const struct tuning_job *job, size_t index,
                     struct error *error)
{
    batch->job = job;
    *ARRAY_APPEND(batch->indices, batch->count) = index;
    if (job->proposer != NULL || clock_ns() >= batch->due_ns)
        return store(batch, error);
    if (batch->count > 1)
        return 0;
    batch->source = (struct event_source){
        .descriptor = -1, .deadline_ns = batch->due_ns, .owner = batch, .expired = store_when_due};
    event_loop_add(batch->loop, &batch->source);
    return 0;
}

int result_batch_end(struct result_batch *batch, int status, struct error *error)
{
    int stored = store(batch, status == 0 ? error : NULL);
    free(batch->indices);
    batch->indices = NULL;
    return status != 0 ? status : stored;
}
