/*
 * Screening results on their way into the record. A transaction costs more than a result in it, so
 * results that come in quick succession share one: there are at most fifty a second. A result
 * that comes later than that is stored at once, and so is what a search learns from, because it may
 * compute for long before anybody waits in the event loop. Whatever ends the process, results of at most
 * RESULT_BATCH_NS are lost.
 *
 * Calling sequence:
 *     struct result_batch batch = {.record = record, .loop = loop, .timings = timings};
 *     result_batch_add(&batch, job, index, error);         for each result
 *     status = result_batch_end(&batch, status, error);    always
 */
#ifndef AUTOTUNE_RESULT_BATCH_H
#define AUTOTUNE_RESULT_BATCH_H

#include "base/error.h"
#include "base/event_loop.h"
#include "record/record.h"
#include "tune/progress.h"
#include "tune/tuning_job.h"

#include <stddef.h>
#include <stdint.h>

/* In 5 ms, a thousand GPUs add a hundred results, each of which changes another page of the record's index. */
#define RESULT_BATCH_NS 20000000

/* Set the first three, which are borrowed. */
struct result_batch {
    struct record *record;
    struct event_loop *loop;
    struct timings *timings;
    const struct tuning_job *job; /* whose results wait */
    size_t *indices;              /* of the results that wait */
    size_t count;
    int64_t due_ns;             /* from when on a result is stored at once */
    struct event_source source; /* in the loop while results wait */
};

/* Stores the result, or has it wait; what is stored then is the result that the job has then. Waits in
 * the loop report what goes wrong later. Returns 0 or ERROR_RECORD. */
int result_batch_add(struct result_batch *batch, const struct tuning_job *job, size_t index,
                     struct error *error);

/* Stores what waits, whatever `status` is, and returns it; or, if it is 0, what storing gave. The batch
 * can be used again. */
int result_batch_end(struct result_batch *batch, int status, struct error *error);

#endif
