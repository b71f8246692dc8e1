/*
 * Batches time variants so short that launching them takes as long as running them. A batch is a
 * CUDA graph of BATCH_RUNS consecutive runs of one variant; a sample is the batch's time divided by
 * BATCH_RUNS. The host does nothing between the runs, and all runs share the cost of the two events
 * (an empty kernel takes 3 us between two events on an H200, and 1.3 us per run in a graph).
 *
 * Each run must start in the same state as a single sample. Resetting a buffer or flushing the L2
 * between runs would add to the measured time, so each run has its own buffers, prepared before the
 * batch starts:
 *
 * - Cold cache: each run has its own copy of every buffer, scratch included. One flush before the
 *   batch makes all copies cold, and no run touches another's. (Only the code stays warm from one
 *   run to the next.) Read_write buffers are restored for every run before the flush.
 * - A variable of the source that is a buffer belongs to the code, so the runs share it. A problem
 *   with a read_write one is not batched.
 * - Textures, tensor maps and arrays of pointers hold addresses: with a cold cache, a problem with
 *   one is not batched.
 * - With a cold cache, a problem with buffers that depend on a parameter is not batched either: the
 *   copies are made once per problem.
 * - Warm cache: the runs share all buffers. A problem with read_write buffers is not batched,
 *   because the first run would change the input of the second.
 *
 * The finals do not move the buffers of batches (data_places.h). With a cold cache, the runs of a
 * batch have them in 32 places anyway.
 *
 * A copy of a scratch buffer keeps its contents from batch to batch, as the variant's own scratch
 * buffer does from run to run. It starts as a copy of that buffer, taken when the batch is made.
 * The last run uses the problem's and the variant's own buffers, so the check after the samples
 * sees the result of a timed run.
 *
 * A variant is not batched if the copies need more than an eighth of the free memory, or if the
 * driver cannot capture the launches in a graph. Its single samples are reported instead.
 */
#ifndef AUTOTUNE_BATCH_H
#define AUTOTUNE_BATCH_H

#include "base/error.h"
#include "gpu/device_problem.h"
#include "gpu/device_variant.h"

enum { BATCH_RUNS = 32 };

/* What the batches of a problem share. Initialise to zero. */
struct batches {
    struct device_problem *problem; /* NULL: not set up yet */
    struct device_buffer *copies;   /* of each buffer, for all runs but the last; NULL: warm */
    bool impossible;
};

struct batch; /* of one variant */

/*
 * Makes the batch of `variant` (NULL: of an empty kernel) for its current copy of the code and runs
 * it once; does nothing if that has been done. Set `*batch` to NULL before the first call.
 * `*ready` is false if the variant cannot be batched. Returns 0, or the driver's error if the
 * variant fails.
 */
int batch_prepare(struct batches *batches, struct device_problem *problem,
                  struct device_variant *variant, struct batch **batch, bool *ready,
                  struct error *error);

/* Queues the batch that batch_prepare() made last. */
int batch_run(const struct batches *batches, const struct batch *batch, struct error *error);

/* Queues device_problem_restore() for each run. */
int batches_restore(const struct batches *batches, struct error *error);

/* About how many driver calls batches_restore() makes. */
size_t batches_restore_calls(const struct batches *batches);

void batch_free(const struct batches *batches, struct batch *batch); /* NULL is allowed */

/* Free every batch first, and call this before the problem is closed. */
void batches_release(struct batches *batches);

#endif
