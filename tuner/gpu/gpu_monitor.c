#include "gpu/gpu_monitor.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READING_INTERVAL_NS INT64_C(50000000)
#define COUNTING_INTERVAL_NS INT64_C(1000000000)

static void *open_nvml(void *context)
{
    struct gpu_monitor *watch = context;
    int status = nvml_open(&watch->nvml, watch->uuid, &watch->error);
    atomic_store(&watch->state, status == 0 ? GPU_MONITOR_OPEN : GPU_MONITOR_FAILED);
    return NULL;
}

void gpu_monitor_start(struct gpu_monitor *watch, const char *uuid)
{
    *watch = (struct gpu_monitor){.state = GPU_MONITOR_OPENING};
    (void)snprintf(watch->uuid, sizeof watch->uuid, "%s", uuid);
    if (pthread_create(&watch->opener, NULL, open_nvml, watch) != 0)
        atomic_store(&watch->state, GPU_MONITOR_NONE);
}

void gpu_monitor_stop(struct gpu_monitor *watch)
{
    if (atomic_load(&watch->state) == GPU_MONITOR_NONE)
        return;
    (void)pthread_join(watch->opener, NULL);
    nvml_close(&watch->nvml);
    atomic_store(&watch->state, GPU_MONITOR_NONE);
}

/* From /proc/PID/stat: "PID (NAME) STATE PARENT …"; 0 where there is no such process. `*ended`: it is a
 * zombie, which waits for its parent only. */
static pid_t parent_of(unsigned pid, bool *ended)
{
    char path[32];
    char line[512];
    long parent = 0;
    *ended = false;
    (void)snprintf(path, sizeof path, "/proc/%u/stat", pid);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    line[fread(line, 1, sizeof line - 1, file)] = '\0';
    (void)fclose(file); /* only read */
    const char *name_end = strrchr(line, ')');
    if (name_end == NULL || strlen(name_end) < 4)
        return 0;
    *ended = name_end[2] == 'Z' || name_end[2] == 'X';
    parent = strtol(name_end + 4, NULL, 10);
    return (pid_t)parent;
}

/* Neither of the coordinator and its workers, where a predecessor of this one may not be gone yet, nor
 * at its end: a killed process may be in the list for a moment longer. */
static bool is_other(unsigned pid)
{
    bool ended;
    pid_t parent = parent_of(pid, &ended);
    if ((pid_t)pid == getpid() || (pid_t)pid == getppid() || ended)
        return false;
    if (parent != 0)
        return parent != getppid() && parent != getpid();
    return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}

/* In a container the list may have other numbers, which say nothing here; but one of them is this
 * process. */
static size_t count_others(const struct nvml *nvml)
{
    size_t count;
    size_t others = 0;
    bool here = false;
    unsigned *pids = nvml_processes(nvml, &count);
    for (size_t i = 0; i < count; i++)
        here = here || (pid_t)pids[i] == getpid();
    for (size_t i = 0; i < count; i++)
        others += !here || is_other(pids[i]);
    free(pids);
    return !here && others > 0 ? others - 1 : others;
}

static void read_now(struct gpu_monitor *watch)
{
    nvml_read(&watch->nvml, &watch->latest);
    watch->read_ns = clock_ns();
    watch->fresh = true;
    if (watch->counted_ns == 0 || watch->read_ns - watch->counted_ns >= COUNTING_INTERVAL_NS) {
        watch->other_processes = count_others(&watch->nvml);
        watch->counted_ns = watch->read_ns;
    }
}

void gpu_monitor_recount(struct gpu_monitor *watch)
{
    watch->counted_ns = 0;
    watch->fresh = false;
}

void gpu_monitor_look(struct gpu_monitor *watch, int64_t begin_ns)
{
    watch->throttled = false;
    if (atomic_load(&watch->state) != GPU_MONITOR_OPEN)
        return;
    if (watch->read_ns != 0 && begin_ns - watch->read_ns < READING_INTERVAL_NS)
        watch->throttled = nvml_throttled(watch->latest.reasons);
    if (watch->read_ns == 0 || clock_ns() - watch->read_ns >= READING_INTERVAL_NS) {
        read_now(watch);
        watch->throttled = watch->throttled || nvml_throttled(watch->latest.reasons);
    }
}

static void tell_reading(struct gpu_monitor *watch, json_t *message)
{
    const struct nvml_reading *latest = &watch->latest;
    (void)json_object_set_new(message, "sm_clock_mhz", json_integer(latest->sm_clock_mhz));
    (void)json_object_set_new(message, "temperature_c", json_integer(latest->temperature_c));
    (void)json_object_set_new(message, "power_w", json_real(latest->power_w));
    (void)json_object_set_new(message, "other_processes",
                              json_integer((json_int_t)watch->other_processes));
    watch->fresh = false;
}

void gpu_monitor_tell(struct gpu_monitor *watch, json_t *message)
{
    if (watch->fresh)
        tell_reading(watch, message);
    if (watch->throttled) {
        char *reasons = nvml_throttle_text(watch->latest.reasons);
        (void)json_object_set_new(message, "throttled", json_true());
        (void)json_object_set_new(message, "reasons", json_string(reasons));
        free(reasons);
    }
    if (atomic_load(&watch->state) == GPU_MONITOR_FAILED) {
        (void)json_object_set_new(message, "unwatched", json_string(watch->error.message));
        atomic_store(&watch->state, GPU_MONITOR_FAILED_SAID);
    }
}
