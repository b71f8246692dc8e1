#define _POSIX_C_SOURCE 200809L
#include "gpu.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum {
    ABI_VERSION = 12000,
    IN_FLIGHT = 4, /* samples: what waits behind one slows it down */
    SAMPLES = 201,
    WARM_UP = 400,
    ATTEMPTS = 400,
};

typedef int (*get_proc_address)(const char *name, void *function, int version, uint64_t flags,
                                void *status);

static int find_functions(struct gpu *gpu, get_proc_address get)
{
    static const struct {
        const char *name;
        size_t offset;
    } functions[] = {
        {"cuCtxSetCurrent", offsetof(struct gpu, set_current)},
        {"cuMemAlloc", offsetof(struct gpu, allocate)},
        {"cuMemFree", offsetof(struct gpu, release)},
        {"cuMemsetD8Async", offsetof(struct gpu, set)},
        {"cuMemcpyHtoD", offsetof(struct gpu, upload)},
        {"cuMemcpyDtoH", offsetof(struct gpu, download)},
        {"cuStreamSynchronize", offsetof(struct gpu, synchronise)},
        {"cuEventCreate", offsetof(struct gpu, event_create)},
        {"cuEventRecord", offsetof(struct gpu, event_record)},
        {"cuEventQuery", offsetof(struct gpu, event_query)},
        {"cuEventElapsedTime", offsetof(struct gpu, event_elapsed)},
        {"cuModuleGetFunction", offsetof(struct gpu, function)},
        {"cuLaunchKernel", offsetof(struct gpu, launch)},
        {"cuLaunchCooperativeKernel", offsetof(struct gpu, launch_cooperative)},
    };
    int code = 0;
    for (size_t i = 0; i < sizeof functions / sizeof *functions && code == 0; i++)
        code = get(functions[i].name, (char *)gpu + functions[i].offset, ABI_VERSION, 0, NULL);
    return code;
}

static int make_context(struct gpu *gpu, get_proc_address get)
{
    int (*init)(unsigned flags);
    int (*retain)(void **context, int device);
    int (*stream)(struct CUstream_st * *stream, unsigned flags);
    return get("cuInit", &init, ABI_VERSION, 0, NULL) != 0 ||
           get("cuDevicePrimaryCtxRetain", &retain, ABI_VERSION, 0, NULL) != 0 ||
           get("cuStreamCreate", &stream, ABI_VERSION, 0, NULL) != 0 || init(0) != 0 ||
           retain(&gpu->context, 0) != 0 || gpu->set_current(gpu->context) != 0 ||
           stream(&gpu->stream, 0) != 0;
}

int gpu_open(struct gpu *gpu, const char **why)
{
    get_proc_address get = NULL;
    memset(gpu, 0, sizeof *gpu);
    gpu->library = dlopen("libcuda.so.1", RTLD_NOW);
    if (gpu->library != NULL) {
        void *symbol = dlsym(gpu->library, "cuGetProcAddress_v2");
        memcpy(&get, &symbol, sizeof get);
    }
    *why = gpu->library == NULL            ? "no NVIDIA driver"
           : get == NULL                   ? "the driver is older than CUDA 12"
           : find_functions(gpu, get) != 0 ? "the driver lacks a function"
           : make_context(gpu, get) != 0   ? "no GPU"
                                           : NULL;
    return *why == NULL ? 0 : -1;
}

/* --- cold times --- */

struct sampler {
    struct gpu *gpu;
    const struct flush *flush;
    struct run *run;
    void *begin[IN_FLIGHT], *end[IN_FLIGHT];
    int late[IN_FLIGHT]; /* the GPU was there before the host was done */
    float samples[SAMPLES];
    size_t taken;
};

static int queue_sample(struct sampler *sampler, size_t slot)
{
    struct gpu *gpu = sampler->gpu;
    const struct flush *flush = sampler->flush;
    uint64_t memory = flush->memory;
    uint64_t words = flush->bytes / 16;
    uint64_t sink = memory + flush->bytes;
    void *arguments[] = {&memory, &words, &sink};
    int code = gpu->launch(flush->read_all, flush->blocks, 1, 1, 256, 1, 1, 0, gpu->stream,
                           arguments, NULL);
    if (code == 0)
        code = gpu->event_record(sampler->begin[slot], gpu->stream);
    if (code == 0)
        code = sampler->run->queue(sampler->run->context);
    if (code == 0)
        code = gpu->event_record(sampler->end[slot], gpu->stream);
    if (code == 0)
        sampler->late[slot] = gpu->event_query(sampler->begin[slot]) != EVENT_PENDING;
    return code;
}

/* Queues a batch and, if wanted, keeps the samples that were not late. */
static int take_batch(struct sampler *sampler, int keep, int keep_late)
{
    struct gpu *gpu = sampler->gpu;
    int code = 0;
    for (size_t slot = 0; slot < IN_FLIGHT && code == 0; slot++)
        code = queue_sample(sampler, slot);
    if (code == 0)
        code = gpu->synchronise(gpu->stream);
    for (size_t slot = 0; slot < IN_FLIGHT && code == 0 && keep; slot++) {
        if (sampler->taken == SAMPLES || (sampler->late[slot] && !keep_late))
            continue;
        code = gpu->event_elapsed(&sampler->samples[sampler->taken++], sampler->begin[slot],
                                  sampler->end[slot]);
    }
    return code;
}

static int by_size(const void *a, const void *b)
{
    const float *left = a;
    const float *right = b;
    return (*left > *right) - (*left < *right);
}

static int sample_all(struct sampler *sampler)
{
    int code = 0;
    for (size_t slot = 0; slot < IN_FLIGHT && code == 0; slot++) {
        code = sampler->gpu->event_create(&sampler->begin[slot], 0);
        if (code == 0)
            code = sampler->gpu->event_create(&sampler->end[slot], 0);
    }
    for (int i = 0; i < WARM_UP / IN_FLIGHT && code == 0; i++)
        code = take_batch(sampler, 0, 0);
    /* a host that is always late is better than no answer */
    for (int i = 0; i < 2 * ATTEMPTS && code == 0 && sampler->taken < SAMPLES; i++)
        code = take_batch(sampler, 1, i >= ATTEMPTS);
    qsort(sampler->samples, SAMPLES, sizeof(float), by_size);
    sampler->run->median_us = sampler->samples[SAMPLES / 2] * 1e3;
    return code;
}

int gpu_time_cold(struct gpu *gpu, const struct flush *flush, struct run *run)
{
    struct sampler sampler = {.gpu = gpu, .flush = flush, .run = run};
    return sample_all(&sampler);
}
