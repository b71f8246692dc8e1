#include "gpu/nvml.h"

#include "base/alloc.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static int resolve(struct nvml *nvml, struct error *error)
{
    static const struct {
        const char *name;
        size_t offset;
        bool needed;
    } functions[] = {
#define X(name, result, arguments, needed) {#name, offsetof(struct nvml, name), needed},
        NVML_FUNCTIONS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(nvml->library, functions[i].name);
        if (symbol == NULL && functions[i].needed)
            return error_set(error, ERROR_DEVICE, "libnvidia-ml.so.1 has no '%s'",
                             functions[i].name);
        /* ISO C cannot cast an object pointer to a function pointer */
        memcpy((char *)nvml + functions[i].offset, &symbol, sizeof symbol);
    }
    return 0;
}

static int check(const struct nvml *nvml, int result, const char *call, struct error *error)
{
    if (result == NVML_SUCCESS)
        return 0;
    return error_set(error, ERROR_DEVICE, "%s failed: %s", call, nvml->nvmlErrorString(result));
}

static int initialise(struct nvml *nvml, struct error *error)
{
    *nvml = (struct nvml){0};
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (nvml->library == NULL)
        return error_set(error, ERROR_DEVICE, "NVML not found (%s)", dlerror());
    int status = resolve(nvml, error);
    if (status == 0)
        status = check(nvml, nvml->nvmlInit_v2(), "nvmlInit", error);
    if (status != 0) {
        (void)dlclose(nvml->library);
        *nvml = (struct nvml){0};
    }
    return status;
}

int nvml_open(struct nvml *nvml, const char *uuid, struct error *error)
{
    int status = initialise(nvml, error);
    if (status != 0)
        return status;
    status = check(nvml, nvml->nvmlDeviceGetHandleByUUID(uuid, &nvml->device),
                   "nvmlDeviceGetHandleByUUID", error);
    if (status != 0)
        nvml_close(nvml);
    return status;
}

void nvml_close(struct nvml *nvml)
{
    if (nvml->library != NULL) {
        (void)nvml->nvmlShutdown();
        (void)dlclose(nvml->library);
    }
    *nvml = (struct nvml){0};
}

bool nvml_driver_version(char *version, size_t bytes)
{
    struct nvml nvml;
    if (initialise(&nvml, NULL) != 0)
        return false;
    bool known = nvml.nvmlSystemGetDriverVersion != NULL &&
                 nvml.nvmlSystemGetDriverVersion(version, (unsigned)bytes) == NVML_SUCCESS;
    nvml_close(&nvml);
    return known;
}

void nvml_read(const struct nvml *nvml, struct nvml_reading *reading)
{
    nvml_handle device = nvml->device;
    unsigned number = 0;
    unsigned long long reasons = 0;
    *reading = (struct nvml_reading){0};
    if (nvml->nvmlDeviceGetClockInfo != NULL &&
        nvml->nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &number) == NVML_SUCCESS)
        reading->sm_clock_mhz = number;
    int (*get_reasons)(nvml_handle, unsigned long long *) =
        nvml->nvmlDeviceGetCurrentClocksEventReasons != NULL
            ? nvml->nvmlDeviceGetCurrentClocksEventReasons
            : nvml->nvmlDeviceGetCurrentClocksThrottleReasons;
    if (get_reasons != NULL && get_reasons(device, &reasons) == NVML_SUCCESS)
        reading->reasons = reasons;
}

unsigned *nvml_processes(const struct nvml *nvml, size_t *count)
{
    struct nvml_process *processes = NULL;
    unsigned listed = 0; /* in: the array's capacity; out: the number of processes */
    int result = NVML_ERROR_INSUFFICIENT_SIZE;
    *count = 0;
    if (nvml->nvmlDeviceGetComputeRunningProcesses_v3 == NULL)
        return NULL;
    /* grow the array at each attempt, because more processes may start in the meantime */
    for (int attempt = 0; attempt < 4 && result == NVML_ERROR_INSUFFICIENT_SIZE; attempt++) {
        listed = listed < 32 ? 32 : 2 * listed;
        processes = alloc_resize(processes, listed, sizeof *processes);
        result = nvml->nvmlDeviceGetComputeRunningProcesses_v3(nvml->device, &listed, processes);
    }
    unsigned *pids = NULL;
    for (unsigned i = 0; result == NVML_SUCCESS && i < listed; i++)
        *ARRAY_APPEND(pids, *count) = processes[i].pid;
    free(processes);
    return pids;
}
