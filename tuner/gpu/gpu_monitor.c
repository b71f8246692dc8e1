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
    struct gpu_monitor *monitor = context;
    struct nvml_reading first; /* it takes 4 ms, and is not used */
    monitor->open = nvml_open(&monitor->nvml, monitor->uuid, &monitor->error) == 0;
    monitor->failed = !monitor->open;
    if (monitor->open)
        nvml_read(&monitor->nvml, &first);
    return NULL;
}

void gpu_monitor_start(struct gpu_monitor *monitor, const char *uuid)
{
    *monitor = (struct gpu_monitor){0};
    (void)snprintf(monitor->uuid, sizeof monitor->uuid, "%s", uuid);
    monitor->opening = pthread_create(&monitor->opener, NULL, open_nvml, monitor) == 0;
}

static void await_nvml(struct gpu_monitor *monitor)
{
    if (monitor->opening)
        (void)pthread_join(monitor->opener, NULL);
    monitor->opening = false;
}

void gpu_monitor_close(struct gpu_monitor *monitor)
{
    await_nvml(monitor);
    nvml_close(&monitor->nvml);
    *monitor = (struct gpu_monitor){0};
}

/* The parent's pid from /proc/PID/stat, "PID (NAME) STATE PARENT …"; 0 if the process does not
 * exist. Sets `*ended` if it is a zombie. */
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

/* True unless the process is the coordinator, one of its workers (a predecessor of this one may
 * still be exiting), or ended: NVML lists a killed process for a moment longer. */
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

/* In a container NVML may list pids of another namespace. They cannot be looked up here, but one of
 * them is this process. */
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

static void read_now(struct gpu_monitor *monitor)
{
    nvml_read(&monitor->nvml, &monitor->latest);
    monitor->read_ns = clock_ns();
    monitor->fresh = true;
    if (monitor->counted_ns == 0 ||
        monitor->read_ns - monitor->counted_ns >= COUNTING_INTERVAL_NS) {
        monitor->other_processes = count_others(&monitor->nvml);
        monitor->counted_ns = monitor->read_ns;
    }
}

static bool is_throttled(const struct gpu_monitor *monitor)
{
    return (monitor->latest.reasons & NVML_THROTTLING) != 0;
}

void gpu_monitor_read(struct gpu_monitor *monitor, int64_t begin_ns)
{
    monitor->throttled = false;
    await_nvml(monitor);
    if (!monitor->open)
        return;
    if (monitor->read_ns != 0 && begin_ns - monitor->read_ns < READING_INTERVAL_NS)
        monitor->throttled = is_throttled(monitor);
    if (monitor->read_ns == 0 || clock_ns() - monitor->read_ns >= READING_INTERVAL_NS) {
        read_now(monitor);
        monitor->throttled = monitor->throttled || is_throttled(monitor);
    }
}

void gpu_monitor_report(struct gpu_monitor *monitor, json_t *message)
{
    if (monitor->fresh) {
        (void)json_object_set_new(message, "sm_clock_mhz",
                                  json_integer(monitor->latest.sm_clock_mhz));
        (void)json_object_set_new(message, "other_processes",
                                  json_integer((json_int_t)monitor->other_processes));
    }
    if (monitor->throttled)
        (void)json_object_set_new(message, "throttled", json_true());
    if (monitor->failed)
        (void)json_object_set_new(message, "monitor_error", json_string(monitor->error.message));
    monitor->fresh = monitor->failed = false;
}
