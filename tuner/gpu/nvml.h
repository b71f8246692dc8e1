/*
 * NVML, NVIDIA's monitoring library, opened at run time: reads the GPU's clocks and lists the
 * processes on it. Only this file and nvml.c name its symbols. The types and values of its stable
 * ABI are declared here, because toolkits without the driver's headers lack nvml.h and newer ones
 * deprecate some of these functions.
 *
 * To use another function, add a line to NVML_FUNCTIONS.
 */
#ifndef AUTOTUNE_NVML_H
#define AUTOTUNE_NVML_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct nvmlDevice_st *nvml_handle;

struct nvml_process { /* nvmlProcessInfo_t of version 3 */
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};

enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_CLOCK_SM = 1,
};

/* X(name, result, arguments, 1 if required) */
#define NVML_FUNCTIONS(X)                                                                          \
    X(nvmlInit_v2, int, (void), 1)                                                                 \
    X(nvmlShutdown, int, (void), 1)                                                                \
    X(nvmlErrorString, const char *, (int result), 1)                                              \
    X(nvmlSystemGetDriverVersion, int, (char *version, unsigned bytes), 0)                         \
    X(nvmlDeviceGetHandleByUUID, int, (const char *uuid, nvml_handle *device), 1)                  \
    X(nvmlDeviceGetClockInfo, int, (nvml_handle device, int clock, unsigned *mhz), 0)              \
    X(nvmlDeviceGetCurrentClocksEventReasons, int,                                                 \
      (nvml_handle device, unsigned long long *reasons), 0)                                        \
    X(nvmlDeviceGetCurrentClocksThrottleReasons, int, /* its name in drivers before 535 */         \
      (nvml_handle device, unsigned long long *reasons), 0)                                        \
    X(nvmlDeviceGetComputeRunningProcesses_v3, int,                                                \
      (nvml_handle device, unsigned *count, struct nvml_process *processes), 0)

/* Why clocks are below their maximum: bits that NVML documents. Throttling is what lowers them because of
 * power, heat or the hardware. */
enum {
    NVML_APPLICATION_CLOCKS = 0x2,
    NVML_THROTTLING = 0x4 | 0x8 | 0x20 | 0x40 | 0x80, /* power cap, slowdowns, power brake */
};

struct nvml {
    void *library;
    nvml_handle device;
#define X(name, result, arguments, needed) result(*name) arguments;
    NVML_FUNCTIONS(X)
#undef X
};

/*
 * Opens the libnvidia-ml.so.1 on the dynamic linker's search path and finds the GPU, which takes
 * about 10 ms per GPU in the machine. Returns 0, or ERROR_DEVICE with what is missing; closes
 * everything on failure.
 */
int nvml_open(struct nvml *nvml, const char *uuid, struct error *error);
void nvml_close(struct nvml *nvml); /* `nvml` may be zero */

/* The version of the driver, "580.95.05"; false if NVML does not say. Takes as long as nvml_open(). */
bool nvml_driver_version(char *version, size_t bytes);

/* What NVML reports at one moment; 0 for a value that this GPU or driver does not report. */
struct nvml_reading {
    unsigned sm_clock_mhz;
    unsigned long long reasons; /* bits */
};

/* Takes from 10 us to 1 ms. */
void nvml_read(const struct nvml *nvml, struct nvml_reading *reading);

/* The pids of all processes with a compute context on the GPU, ours included; free the array. Empty
 * if NVML does not list them. In a container they may be the host's pids. */
unsigned *nvml_processes(const struct nvml *nvml, size_t *count);

#endif
