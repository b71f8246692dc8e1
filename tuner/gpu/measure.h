/*
 * Measures how long one run of a variant takes: the GPU time between two events, without the host's
 * launch latency.
 *
 * To keep that latency out, the host must queue everything up to a sample's end event before the
 * GPU reaches its begin event. The work in front of the begin event gives the host that time:
 *
 * - device_variant_reset(): read_write buffers are restored, outputs and work space poisoned. What that
 *   leaves in the L2 is gone after the flush;
 * - for a cold cache, a read of twice the size of the L2, which leaves it full of clean lines that
 *   are not the kernel's (a memset would leave dirty lines, and their write-back would slow the
 *   kernel; tests/bench/flush.c measures both);
 * - if that takes too little time, a kernel that delays the stream.
 *
 * If the GPU reached the begin event before the host was done, the sample is discarded and taken
 * again with a longer delay.
 *
 * Two events with an empty kernel between them are some microseconds apart. measure_samples()
 * without a variant measures that time, and the reports state it. Single runs are too coarse for a
 * variant that takes only a few times as long. Therefore variants below 10 us (tune/tuning.h) are
 * measured in batches (batch.h), and their reports state the time of an empty kernel in a batch.
 */
#ifndef AUTOTUNE_MEASURE_H
#define AUTOTUNE_MEASURE_H

#include "base/error.h"
#include "gpu/batch.h"
#include "gpu/device_problem.h"
#include "gpu/device_variant.h"

#include <jansson.h>
#include <stddef.h>

/*
 * The most samples in the queue at once. Work queued behind a sample slows it down: on an H200 a
 * kernel of 19.9 us (median) takes 20.3 us with nine samples behind it and 20.9 us with 31, while
 * the last one in the queue always takes 19.9 us. Two or three behind it make no difference.
 */
enum { MEASURE_IN_FLIGHT = 4 };

struct measure {
    CUevent begin[MEASURE_IN_FLIGHT], end[MEASURE_IN_FLIGHT];
    uint64_t hold_ns; /* delay in front of each sample */
    bool late_run;    /* of measure_queue_run() */
};

/* Queues a read of twice the size of the L2 if the problem is measured cold. */
int measure_flush(struct device_problem *problem, struct error *error);

int measure_init(struct measure *measure, struct device_context *device, struct error *error);

/*
 * Queues one run of `variant` between two events, without a flush: the cache is as the last work
 * left it, and a delay hides the launch latency. Once the run is done, measure_take_run() sets
 * `*ns` to its time, or to 0 if the host was too slow. Both return 0 or ERROR_DEVICE.
 */
int measure_queue_run(struct measure *measure, struct device_problem *problem,
                      struct device_variant *variant, struct error *error);
int measure_take_run(struct measure *measure, struct device_context *device, double *ns,
                     struct error *error);

/* Takes `count` single samples of `variant` (NULL: of an empty kernel), in nanoseconds. Returns 0 or the
 * driver's error. */
int measure_samples(struct measure *measure, struct device_problem *problem,
                    struct device_variant *variant, size_t count, double *samples_ns,
                    struct error *error);

/* --- samples as a request asks for them --- */

enum { EMPTY_SAMPLES = 15 }; /* of an empty kernel */

struct sampling {
    struct measure measure;
    struct batches batches; /* of the open problem's variants */
    double empty_batch_ns;  /* one run of an empty kernel in a batch; 0: not measured yet */
};

struct samples {
    double *ns; /* allocated for as many as the request asks for */
    size_t count;
    int runs;         /* each sample is the mean of this many: 1 or BATCH_RUNS */
    double single_ns; /* median of single samples; 0: none were taken */
};

/* What to queue behind the last sample, so that the host waits for both at once. */
struct measure_follower {
    int (*queue)(const void *owner, struct error *error);
    const void *owner;
    bool
        queued; /* set if it was: not behind batches, nor behind a sample that turned out to be the last */
};

/* Takes `count` samples, as `batched`, `enough_ns` and `short_ns` of the request say (FORMATS.md).
 * `follower` may be NULL. Returns 0, or the error of measuring. */
int measure_take(struct sampling *sampling, struct device_problem *problem, const json_t *request,
                 struct device_variant *variant, size_t count, struct measure_follower *follower,
                 struct samples *samples, struct error *error);

/* The times as an array; the samples as an object with the keys of FORMATS.md. Both are new. */
json_t *times_to_json(const double *times_ns, size_t count);
json_t *samples_to_json(const struct samples *samples, double empty_batch_ns);

#endif
