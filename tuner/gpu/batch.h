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
 * - Each run has its own copy of every output and of every scratch buffer that is work space, poisoned
 *   before the batch: no run finds what another has left there. Every other run starts from a large number,
 *   the others from a small one, so that two consecutive runs show what reads an output that it has not
 *   written.
 * - Cold cache: the same is true of every other buffer. One flush before the batch makes all copies
 *   cold, and no run touches another's. (Only the code stays warm from one run to the next.)
 *   Read_write buffers are restored for every run before the flush.
 * - Warm cache: the runs share all other buffers. A problem with read_write buffers is not batched,
 *   because the first run would change the input of the second.
 * - A variable of the source that is a buffer belongs to the code, so the runs share it. A problem
 *   with one that runs change is not batched.
 * - Textures, tensor maps and arrays of pointers hold addresses, and the copies are made once per
 *   problem: if a buffer that is to be copied is in one of the former, or depends on a parameter, the
 *   problem is not batched; nor is one with [constants].
 *
 * The finals do not move the buffers of batches (device_buffer.h). With a cold cache, the runs of a
 * batch have them in 32 places anyway.
 *
 * A copy of a scratch buffer that is state keeps its contents from batch to batch, as the variant's own
 * one does from run to run. It starts as a copy of that buffer, taken when the batch is made. The last
 * run uses the problem's and the variant's own buffers; batch_show() puts the results of any other run
 * there, to be checked.
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
    struct device_buffer *copies;   /* of each buffer, for all runs but the last */
    uint64_t *fingerprints;         /* of the copies of read buffers */
    CUdeviceptr sum;                /* one number, for a fingerprint */
    uint64_t refills;               /* data_store.refills when they were copied; 0: that failed */
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

/* Queues what must precede a batch: device_variant_reset() for each of its runs; `variant` is NULL
 * for an empty kernel. */
int batch_reset(const struct batches *batches, const struct batch *batch,
                struct device_variant *variant, struct error *error);

/* About how many driver calls that makes. */
size_t batch_reset_calls(const struct batches *batches);

/* Queues copying the results of run `run` of the last batch, 0 to BATCH_RUNS - 1, to the variant's own
 * buffers, unless they are there, and notes the poison that it started from. */
int batch_show(const struct batches *batches, struct device_variant *variant, size_t run,
               struct error *error);

/* The copies of a read buffer, which no variant may change, and their fingerprint (NULL: not
 * wanted); NULL if there are none. */
const struct device_buffer *batches_constant(const struct batches *batches, size_t buffer,
                                             uint64_t *fingerprint);

/* The copies of scratch buffer `index`; NULL: there are none. */
const struct device_buffer *batch_scratch(const struct batch *batch, size_t index);

void batch_free(const struct batches *batches, struct batch *batch); /* NULL is allowed */

/* Free every batch first, and call this before the problem is closed. */
void batches_release(struct batches *batches);

#endif
