#define _POSIX_C_SOURCE 200809L
#include "gpu.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static int find_functions(struct gpu *gpu)
{
    static const struct {
        const char *name;
        size_t offset;
    } functions[] = {
        {"cuMemAlloc_v2", offsetof(struct gpu, allocate)},
        {"cuMemFree_v2", offsetof(struct gpu, release)},
        {"cuMemsetD8_v2", offsetof(struct gpu, set)},
        {"cuMemcpyHtoD_v2", offsetof(struct gpu, upload)},
        {"cuMemcpyDtoH_v2", offsetof(struct gpu, download)},
        {"cuCtxSynchronize", offsetof(struct gpu, synchronise)},
        {"cuEventCreate", offsetof(struct gpu, event_create)},
        {"cuEventRecord", offsetof(struct gpu, event_record)},
        {"cuEventElapsedTime", offsetof(struct gpu, event_elapsed)},
        {"cuModuleGetFunction", offsetof(struct gpu, function)},
        {"cuLaunchKernel", offsetof(struct gpu, launch)},
        {"cuLaunchCooperativeKernel", offsetof(struct gpu, launch_cooperative)},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(gpu->library, functions[i].name);
        if (symbol == NULL)
            return -1;
        memcpy((char *)gpu + functions[i].offset, &symbol, sizeof symbol);
    }
    return 0;
}

static int make_context(struct gpu *gpu)
{
    int (*init)(unsigned flags);
    int (*retain)(void **context, int device);
    int (*set_current)(void *context);
    void *symbols[] = {dlsym(gpu->library, "cuInit"),
                       dlsym(gpu->library, "cuDevicePrimaryCtxRetain"),
                       dlsym(gpu->library, "cuCtxSetCurrent")};
    memcpy(&init, &symbols[0], sizeof init);
    memcpy(&retain, &symbols[1], sizeof retain);
    memcpy(&set_current, &symbols[2], sizeof set_current);
    if (init == NULL || retain == NULL || set_current == NULL || init(0) != 0 ||
        retain(&gpu->context, 0) != 0 || set_current(gpu->context) != 0)
        return -1;
    return 0;
}

int gpu_open(struct gpu *gpu, const char **why)
{
    memset(gpu, 0, sizeof *gpu);
    gpu->library = dlopen("libcuda.so.1", RTLD_NOW);
    *why = gpu->library == NULL       ? "no NVIDIA driver"
           : find_functions(gpu) != 0 ? "the driver lacks a function"
           : make_context(gpu) != 0   ? "no GPU"
           : gpu->event_create(&gpu->start, 0) != 0 || gpu->event_create(&gpu->stop, 0) != 0
               ? "no events"
               : NULL;
    return *why == NULL ? 0 : -1;
}
