/*
 * NVML's entry points. They are in the same library as the driver's, so that both know the same
 * virtual time; libnvidia-ml.so.1 is another name of it. They are neither counted nor logged: the
 * tuner asks by the wall clock, and tests count on calls.
 */
#include "gpu/nvml.h"
#include "standin.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define X(name, result, arguments, needed) result name arguments;
NVML_FUNCTIONS(X)
#undef X

enum { NVML_ERROR_UNINITIALIZED = 1, NVML_ERROR_DRIVER_NOT_LOADED = 9 };

struct nvmlDevice_st {
    int ordinal;
};

static struct nvmlDevice_st devices[DEVICES_MAX];
static bool initialised;
static uint64_t readings; /* of the reasons */

int nvmlInit_v2(void)
{
    if (!control()->nvml)
        return NVML_ERROR_DRIVER_NOT_LOADED;
    initialised = true;
    return NVML_SUCCESS;
}

int nvmlShutdown(void)
{
    initialised = false;
    return NVML_SUCCESS;
}

const char *nvmlErrorString(int result)
{
    return result == NVML_ERROR_DRIVER_NOT_LOADED ? "Driver Not Loaded"
           : result == NVML_ERROR_NOT_FOUND       ? "Not Found"
                                                  : "Unknown Error";
}

int nvmlSystemGetDriverVersion(char *version, unsigned bytes)
{
    return snprintf(version, bytes, "%s", control()->driver_build) < (int)bytes
               ? NVML_SUCCESS
               : NVML_ERROR_INSUFFICIENT_SIZE;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, nvml_handle *device)
{
    if (!initialised)
        return NVML_ERROR_UNINITIALIZED;
    for (int i = 0; i < control()->devices; i++) {
        char own[UUID_BYTES];
        control_uuid(i, own);
        if (strcmp(uuid, own) != 0)
            continue;
        devices[i].ordinal = i;
        *device = &devices[i];
        return NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_FOUND;
}

int nvmlDeviceGetClockInfo(nvml_handle device, int clock, unsigned *mhz)
{
    if (clock != NVML_CLOCK_SM)
        return NVML_ERROR_NOT_SUPPORTED;
    *mhz = (unsigned)control_of(device->ordinal)->sm_clock_mhz;
    return NVML_SUCCESS;
}

int nvmlDeviceGetCurrentClocksEventReasons(nvml_handle device, unsigned long long *reasons)
{
    (void)device;
    bool throttled =
        ++readings <= control()->throttled_readings || clock_is_throttled(&control()->time);
    *reasons =
        throttled ? (unsigned long long)control()->throttle_reasons : NVML_APPLICATION_CLOCKS;
    return NVML_SUCCESS;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_handle device, unsigned long long *reasons)
{
    return nvmlDeviceGetCurrentClocksEventReasons(device, reasons);
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvml_handle device, unsigned *count,
                                            struct nvml_process *processes)
{
    const struct control *asked = control_of(device->ordinal);
    unsigned pids[PROCESSES_MAX];
    size_t used_bytes;
    unsigned room = *count;
    size_t ours = control_other_contexts(device->ordinal, &used_bytes, pids, PROCESSES_MAX - 1);
    pids[ours++] = (unsigned)getpid();
    *count = (unsigned)(ours + asked->process_count);
    if (room < *count)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    for (size_t i = 0; i < ours; i++)
        processes[i] = (struct nvml_process){.pid = pids[i] + (unsigned)asked->pid_offset};
    for (size_t i = 0; i < asked->process_count; i++)
        processes[ours + i] = (struct nvml_process){.pid = asked->processes[i]};
    return NVML_SUCCESS;
}
