/*
 * The few driver calls that this application makes, opened at run time: it starts without a GPU.
 * Times are the GPU's own between two events, with the L2 full of other data.
 */
#ifndef DOWNSTREAM_GPU_H
#define DOWNSTREAM_GPU_H

#include <autotune/tuned_kernel.h>

#include <stddef.h>
#include <stdint.h>

struct gpu {
    void *library, *context;
    struct CUstream_st *stream;
    int (*set_current)(void *context);
    int (*allocate)(uint64_t *address, size_t bytes);
    int (*release)(uint64_t address);
    int (*set)(uint64_t address, unsigned char value, size_t bytes, struct CUstream_st *stream);
    int (*upload)(uint64_t address, const void *host, size_t bytes);
    int (*download)(void *host, uint64_t address, size_t bytes);
    int (*synchronise)(struct CUstream_st *stream);
    int (*event_create)(void **event, unsigned flags);
    int (*event_record)(void *event, struct CUstream_st *stream);
    int (*event_query)(void *event); /* EVENT_PENDING: the GPU is not there yet */
    int (*event_elapsed)(float *milliseconds, void *start, void *stop);
    int (*function)(struct CUfunc_st **function, struct CUmod_st *module, const char *name);
    int (*launch)(struct CUfunc_st *function, unsigned, unsigned, unsigned, unsigned, unsigned,
                  unsigned, unsigned shared_bytes, struct CUstream_st *stream, void **arguments,
                  void **extra);
    int (*launch_cooperative)(struct CUfunc_st *function, unsigned, unsigned, unsigned, unsigned,
                              unsigned, unsigned, unsigned shared_bytes, struct CUstream_st *stream,
                              void **arguments);
};

enum { EVENT_PENDING = 600 }; /* CUDA_ERROR_NOT_READY */

/* Makes a context on the first GPU, and a stream. Returns 0, or what is missing in `*why`. */
int gpu_open(struct gpu *gpu, const char **why);

/* Something to be timed: queues one run on the GPU's stream, returns 0 or an error. */
struct run {
    int (*queue)(void *context);
    void *context;
    double median_us; /* the answer */
};

/* What a flush needs: the kernel `read_all` of kernels.cu, and memory larger than the L2. */
struct flush {
    struct CUfunc_st *read_all;
    unsigned blocks;
    uint64_t memory, bytes;
};

/*
 * Takes samples of the run, each behind a flush by reading, queued ahead of the GPU so that the host's latency is not
 * in them: as the tuner does. Returns 0, or a driver's error.
 */
int gpu_time_cold(struct gpu *gpu, const struct flush *flush, struct run *run);

#endif
