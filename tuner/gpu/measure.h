/*
 * How long one run of a variant takes: the GPU's own time between two events, with the host's
 * latency out of it.
 *
 * Samples are queued ahead of the GPU: everything up to a sample's closing event must be queued
 * before the GPU reaches its opening one. What keeps the GPU back is the work in front of the
 * opening event: read_write buffers are restored; for a cold cache twice the L2's size is read, so
 * that what the L2 holds is clean and none of it the kernel's (a memset would leave dirty lines,
 * whose write-back falls into the sample: tests/bench/flush.c shows both); and where that is too
 * short, a kernel holds the stream.
 * A sample that the GPU began before the host was done is thrown away and taken again, with a
 * longer hold.
 *
 * The time between two events with an empty kernel is not zero; measure_samples() with no variant
 * measures it in the same way, and reports state it beside the figures. Of a variant that takes no
 * more than a few times as long, single runs say little: below 10 us (tune/tuning.h), batches of runs
 * give the figure (batch.h), and an empty kernel in a batch is what reports state.
 */
#ifndef AUTOTUNE_MEASURE_H
#define AUTOTUNE_MEASURE_H

#include "base/error.h"
#include "gpu/batch.h"
#include "gpu/device_problem.h"

#include <stddef.h>

/*
 * Samples queued at once, at most. What waits behind a sample slows it down: on an H200 the median of
 * a kernel of 19.9 us rises to 20.3 us with nine samples behind it and to 20.9 us with 31, while the last
 * in the queue always takes 19.9; with two or three behind it nothing shows.
 */
enum { MEASURE_IN_FLIGHT = 4 };

struct measure {
    CUevent begin[MEASURE_IN_FLIGHT], end[MEASURE_IN_FLIGHT];
    uint64_t hold_ns;      /* in front of each sample */
    uint64_t late_samples; /* thrown away because the host was too slow */
};

/* Queues what makes the L2 cold: a read of twice its size. Nothing where the problem is warm. */
int measure_flush(struct device_problem *problem, struct error *error);

int measure_init(struct measure *measure, struct device_context *device, struct error *error);

/*
 * Takes `count` samples of `variant` (NULL: of an empty kernel), in nanoseconds. Returns 0 or the
 * driver's error.
 */
int measure_samples(struct measure *measure, struct device_problem *problem,
                    const struct device_variant *variant, size_t count, double *samples_ns,
                    struct error *error);

/*
 * The same of batches: each sample is the time of a whole batch over its number of runs, and what
 * the L2 is flushed before is the batch (batch.h says why that is enough).
 */
int measure_batches(struct measure *measure, const struct batches *batches,
                    const struct batch *batch, size_t count, double *samples_ns,
                    struct error *error);

#endif
