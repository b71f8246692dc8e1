#include "table.h"

#include <dlfcn.h>
#include <string.h>

/*
 * The part of the driver's interface that is needed here. cuda.h is not included, so that
 * applications without CUDA can use this library. The numbers are part of the driver's ABI
 * (CUdevice_attribute).
 */
enum attribute {
    SM_COUNT = 16,
    MEMORY_CLOCK_KHZ = 36,
    MEMORY_BUS_BITS = 37,
    L2_BYTES = 38,
    CAPABILITY_MAJOR = 75,
    CAPABILITY_MINOR = 76,
};

struct calls {
    int (*current_device)(int *device);
    int (*device_name)(char *name, int length, int device);
    int (*device_attribute)(int *value, int attribute, int device);
};

/*
 * cuGetProcAddress() of CUDA 12.0: the name, the pointer to set, the version of the ABI, no flags,
 * no status.
 */
typedef int (*get_proc_address)(const char *name, void **function, int version, uint64_t flags,
                                void *status);

enum { ABI_VERSION = 2000 };

/* `function` points to a function pointer; ISO C cannot cast an object pointer to one. */
static bool find_call(get_proc_address get, const char *name, void *function)
{
    void *symbol = NULL;
    bool found = get != NULL && get(name, &symbol, ABI_VERSION, 0, NULL) == 0 && symbol != NULL;
    memcpy(function, &symbol, sizeof symbol);
    return found;
}

static bool find_calls(void *library, struct calls *calls)
{
    get_proc_address get = NULL;
    void *symbol = dlsym(library, "cuGetProcAddress_v2");
    memcpy(&get, &symbol, sizeof symbol);
    return find_call(get, "cuCtxGetDevice", &calls->current_device) &&
           find_call(get, "cuDeviceGetName", &calls->device_name) &&
           find_call(get, "cuDeviceGetAttribute", &calls->device_attribute);
}

static int fill(const struct calls *calls, struct tuned_gpu *gpu, int device)
{
    int major = 0;
    int minor = 0;
    int l2_bytes = 0;
    int clock_khz = 0;
    int bus_bits = 0;
    const struct {
        enum attribute attribute;
        int *value;
    } wanted[] = {{SM_COUNT, &gpu->sm_count},     {L2_BYTES, &l2_bytes},
                  {MEMORY_CLOCK_KHZ, &clock_khz}, {MEMORY_BUS_BITS, &bus_bits},
                  {CAPABILITY_MAJOR, &major},     {CAPABILITY_MINOR, &minor}};
    int failed = calls->device_name(gpu->name, (int)sizeof gpu->name, device);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && failed == 0; i++)
        failed = calls->device_attribute(wanted[i].value, (int)wanted[i].attribute, device);
    gpu->compute_capability = 10 * major + minor;
    gpu->l2_bytes = l2_bytes;
    /* two transfers per clock; kHz × bytes = 10^3 bytes per second */
    gpu->memory_gb_per_s = 2.0 * clock_khz * bus_bits / 8 * 1e-6;
    return failed;
}

int tuned_gpu_current(struct tuned_gpu *gpu, int *device, struct tuned_error *error)
{
    struct calls calls;
    int ordinal = 0;
    int code = 0;
    memset(gpu, 0, sizeof *gpu);
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library == NULL)
        return tuned_fail(error, TUNED_NO_GPU, NULL, 0,
                          "no CUDA driver is loaded; make a context first, or describe the GPU "
                          "yourself");
    if (!find_calls(library, &calls))
        code = tuned_fail(error, TUNED_NO_GPU, NULL, 0,
                          "the CUDA driver does not say which GPU is current; install one for CUDA "
                          "12.0 or newer");
    else if (calls.current_device(&ordinal) != 0)
        code = tuned_fail(error, TUNED_NO_GPU, NULL, 0,
                          "no CUDA context is current in this thread; make one first");
    else if (fill(&calls, gpu, ordinal) != 0)
        code = tuned_fail(error, TUNED_NO_GPU, NULL, 0,
                          "the CUDA driver does not describe device %d", ordinal);
    (void)dlclose(library);
    if (code == 0 && device != NULL)
        *device = ordinal;
    return code;
}
