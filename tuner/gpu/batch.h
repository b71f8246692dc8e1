/*
 * Batches, for variants so short that starting them takes as long as they do: a CUDA graph of
 * BATCH_RUNS runs of a variant, one after the other, whose time over BATCH_RUNS is the figure. The
 * runs follow each other without the host, and what two events around a single run cost (an empty
 * kernel: 3 us on an H200, 1.3 us a run in a graph) is shared by all of them.
 *
 * Each run finds what a single sample's run finds. Nothing is reset or flushed between the runs,
 * which would have to be subtracted; instead each run has buffers of its own, prepared before the
 * batch begins, outside of its time:
 *
 * - For a cold cache each run has copies of all buffers to itself, scratch included. One flush
 *   before the batch makes them all cold, and no run touches what another has touched. (What stays
 *   warm from one run to the next is the code.) Read_write buffers are restored for every run
 *   before the flush.
 * - For a warm cache the runs share all buffers. A problem with read_write buffers is not batched:
 *   the second run would not find what the first has found.
 *
 * A copy of a scratch buffer lives on from batch to batch, as the variant's own lives on from run to
 * run; it begins as the variant's own is when the batch is made. The last run has the problem's and
 * the variant's own buffers, so that what is checked after the samples is the result of a timed run.
 *
 * Where the copies do not fit into an eighth of the free memory, or the driver cannot make a graph
 * of the launches, there is no batch, and single samples stay the figure.
 */
#ifndef AUTOTUNE_BATCH_H
#define AUTOTUNE_BATCH_H

#include "base/error.h"
#include "gpu/device_problem.h"

enum { BATCH_RUNS = 32 };

/* What the batches of a problem share. Zeroed is ready for use. */
struct batches {
    struct device_problem *problem; /* NULL: nothing has been made */
    struct device_buffer *copies;   /* of each buffer all but the last run's; NULL: warm */
    bool impossible;
};

struct batch; /* of one variant */

/*
 * Makes the batch of `variant` (NULL: of an empty kernel), with the copy of its code that it runs
 * now, and runs it once, unless that has been done. `*batch` is NULL at
 * first. `*ready` is false where there can be no batch. Returns 0, or the driver's error where the
 * variant fails in it.
 */
int batch_prepare(struct batches *batches, struct device_problem *problem,
                  struct device_variant *variant, struct batch **batch, bool *ready,
                  struct error *error);

/* Queues the batch, as it was prepared last. */
int batch_run(const struct batches *batches, const struct batch *batch, struct error *error);

/* Queues device_problem_restore() for each run; and about how many calls that takes. */
int batches_restore(const struct batches *batches, struct error *error);
size_t batches_restore_calls(const struct batches *batches);

void batch_free(const struct batches *batches, struct batch *batch); /* NULL is allowed */

/* After all of its batches; before the problem is closed. */
void batches_release(struct batches *batches);

#endif
