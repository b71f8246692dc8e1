/*
 * Watches the GPU for throttling and other processes while the device worker takes samples. A
 * reading takes up to a millisecond, so the monitor reads at most once per request, after the
 * samples, and at most every 50 ms. It misses throttling that begins and ends between two readings.
 * It counts other processes at most once a second.
 *
 * A thread of its own opens NVML, because that is slow. Until NVML is open, the monitor reports
 * nothing. A machine without NVML is not an error.
 */
#ifndef AUTOTUNE_GPU_MONITOR_H
#define AUTOTUNE_GPU_MONITOR_H

#include "gpu/nvml.h"

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum gpu_monitor_state {
    GPU_MONITOR_NONE,
    GPU_MONITOR_OPENING,
    GPU_MONITOR_OPEN,
    GPU_MONITOR_FAILED,
    GPU_MONITOR_FAILED_REPORTED
};

struct gpu_monitor {
    struct nvml nvml;
    char uuid[48];
    struct error error; /* why NVML could not be opened */
    pthread_t opener;
    atomic_int state; /* an enum gpu_monitor_state */
    struct nvml_reading latest;
    int64_t read_ns;    /* when `latest` was read; 0: never */
    int64_t counted_ns; /* when other_processes was counted; 0: never */
    size_t other_processes;
    bool fresh;     /* `latest` has not been reported yet */
    bool throttled; /* the GPU was throttled during the last samples */
};

void gpu_monitor_start(struct gpu_monitor *monitor, const char *uuid);
void gpu_monitor_stop(struct gpu_monitor *monitor); /* `monitor` may be zero */

/* Call after taking samples; `begin_ns` is the clock_ns() at which they began. */
void gpu_monitor_read(struct gpu_monitor *monitor, int64_t begin_ns);

/*
 * Adds what gpu_monitor_read() found to the message with the samples: if the GPU was throttled,
 * "throttled"; if there is a new reading, "sm_clock_mhz" and "other_processes"; and once, if NVML could not be opened, the reason as "monitor_error".
 */
void gpu_monitor_report(struct gpu_monitor *monitor, json_t *message);

#endif
