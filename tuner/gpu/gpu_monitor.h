/*
 * Watches the GPU for throttling and other processes while the device worker takes samples. A
 * reading takes up to a millisecond, so the monitor reads at most once per request, after the
 * samples, and at most every 50 ms. It misses throttling that begins and ends between two readings.
 * It counts other processes at most once a second. A machine without NVML is not an error.
 */
#ifndef AUTOTUNE_GPU_MONITOR_H
#define AUTOTUNE_GPU_MONITOR_H

#include "base/error.h"
#include "gpu/nvml.h"
#include "record/gpu.h"

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Initialise to zero. */
struct gpu_monitor {
    struct nvml nvml;
    char uuid[sizeof((struct gpu *)0)->uuid];
    pthread_t opener;
    bool opening; /* not joined yet */
    bool open;
    bool failed;        /* and that has not been reported yet */
    struct error error; /* why NVML could not be opened */
    struct nvml_reading latest;
    int64_t read_ns;    /* when `latest` was read; 0: never */
    int64_t counted_ns; /* when other_processes was counted; 0: never */
    size_t other_processes;
    bool fresh;     /* `latest` has not been reported yet */
    bool throttled; /* the GPU was throttled during the last samples */
};

/* Opens NVML for this GPU in a thread, because that takes 20 ms, which the context's creation hides. */
void gpu_monitor_start(struct gpu_monitor *monitor, const char *uuid);

/* Call after taking samples; `begin_ns` is the clock_ns() at which they began. The first call waits until
 * NVML is open. */
void gpu_monitor_read(struct gpu_monitor *monitor, int64_t begin_ns);

/*
 * Adds what gpu_monitor_read() found to the message with the samples: if the GPU was throttled,
 * "throttled"; if there is a new reading, "sm_clock_mhz" and "other_processes"; and once, if NVML could
 * not be opened, the reason as "monitor_error".
 */
void gpu_monitor_report(struct gpu_monitor *monitor, json_t *message);

void gpu_monitor_close(struct gpu_monitor *monitor);

#endif
