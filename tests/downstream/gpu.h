/* The few driver calls that this application makes, opened at run time: it starts without a GPU. */
#ifndef DOWNSTREAM_GPU_H
#define DOWNSTREAM_GPU_H

#include <autotune/tuned_kernel.h>

#include <stddef.h>
#include <stdint.h>

struct gpu {
    void *library;
    int device;
    void *context, *start, *stop;
    int (*allocate)(uint64_t *address, size_t bytes);
    int (*release)(uint64_t address);
    int (*set)(uint64_t address, unsigned char value, size_t bytes);
    int (*upload)(uint64_t address, const void *host, size_t bytes);
    int (*download)(void *host, uint64_t address, size_t bytes);
    int (*synchronise)(void);
    int (*event_create)(void **event, unsigned flags);
    int (*event_record)(void *event, struct CUstream_st *stream);
    int (*event_elapsed)(float *milliseconds, void *start, void *stop);
    int (*function)(struct CUfunc_st **function, struct CUmod_st *module, const char *name);
    int (*launch)(struct CUfunc_st *function, unsigned, unsigned, unsigned, unsigned, unsigned,
                  unsigned, unsigned shared_bytes, struct CUstream_st *stream, void **arguments,
                  void **extra);
    int (*launch_cooperative)(struct CUfunc_st *function, unsigned, unsigned, unsigned, unsigned,
                              unsigned, unsigned, unsigned shared_bytes, struct CUstream_st *stream,
                              void **arguments);
};

/* Makes a context on the first GPU. Returns 0, or what is missing in `*why`. */
int gpu_open(struct gpu *gpu, const char **why);

#endif
