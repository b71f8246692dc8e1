/*
 * What else goes on on the GPU while the device worker takes samples: lowered clocks, other
 * processes. A reading takes up to a millisecond, so there is at most one for each request, after
 * its samples, and none within 50 ms of the last: throttling that begins and ends between two
 * readings goes unseen. Who is on the GPU is looked up once a second.
 *
 * NVML is opened in a thread of its own, since that takes long and nothing waits for it; until it
 * is open, nothing is seen. It may not be there at all, which is no error.
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
    GPU_MONITOR_FAILED_SAID
};

struct gpu_monitor {
    struct nvml nvml;
    char uuid[48];
    struct error error; /* why there is no NVML */
    pthread_t opener;
    atomic_int state;           /* of enum gpu_monitor_state */
    struct nvml_reading latest; /* at read_ns; 0: none yet */
    int64_t read_ns;
    int64_t counted_ns; /* when other_processes was */
    size_t other_processes;
    bool fresh;     /* the latest reading has not been told yet */
    bool throttled; /* the last samples were taken under it */
};

void gpu_monitor_start(struct gpu_monitor *watch, const char *uuid);
void gpu_monitor_stop(struct gpu_monitor *watch); /* a zeroed one, too */

/* What was counted and read so far is not to be told: there was a process of our own beside us. */
void gpu_monitor_recount(struct gpu_monitor *watch);

/* To be called when samples were taken, the first at `begin_ns` on clock_ns(). */
void gpu_monitor_look(struct gpu_monitor *watch, int64_t begin_ns);

/*
 * Adds to the samples' message what gpu_monitor_look() saw: "throttled" with its "reasons"; of a new
 * reading "sm_clock_mhz", "temperature_c", "power_w" and "other_processes"; once "unwatched", the
 * reason why there is no NVML.
 */
void gpu_monitor_tell(struct gpu_monitor *watch, json_t *message);

#endif
