/*
 * How long one run of a variant takes: the GPU's own time between two events, with the host's
 * latency out of it.
 *
 * A batch of samples is queued behind a kernel that holds the stream back until the host is done
 * queueing; where the host was too slow, the batch is thrown away and the hold made longer. Before
 * each sample, outside its events: read_write buffers are restored, and for a cold cache twice the
 * L2's size is read, so that what the L2 holds is clean and none of it the kernel's (a memset would
 * leave dirty lines, whose write-back falls into the sample).
 *
 * The time between two events with an empty kernel is not zero; measure_samples() with no variant
 * measures it in the same way, and reports state it beside the figures.
 */
#ifndef AUTOTUNE_MEASURE_H
#define AUTOTUNE_MEASURE_H

#include "device_problem.h"
#include "error.h"

#include <stddef.h>

enum { MEASURE_BATCH = 32 };

struct measure {
    CUevent held; /* when the holding kernel ended */
    CUevent begin[MEASURE_BATCH], end[MEASURE_BATCH];
    uint64_t hold_ns;      /* how long the next batch is held back, for each queued call */
    uint64_t late_batches; /* thrown away because the host was too slow */
};

int measure_init(struct measure *measure, struct device_context *device, struct error *error);

/*
 * Takes `count` samples of `variant` (NULL: of an empty kernel), in nanoseconds. Returns 0 or the
 * driver's error.
 */
int measure_samples(struct measure *measure, struct device_problem *problem,
                    const struct device_variant *variant, size_t count, double *samples_ns,
                    struct error *error);

#endif
