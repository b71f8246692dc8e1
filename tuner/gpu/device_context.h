/*
 * A GPU as the device worker holds it: the driver, a context, one stream, and the tuner's own
 * kernels. What runs in it can kill it (an illegal address, a launch that never ends), so it lives
 * in a process of its own.
 *
 * A CUresult that is not CUDA_SUCCESS is remembered in `last`: whoever ran a variant asks it what
 * happened.
 */
#ifndef AUTOTUNE_DEVICE_CONTEXT_H
#define AUTOTUNE_DEVICE_CONTEXT_H

#include "base/error.h"
#include "gpu/driver.h"
#include "record/gpu.h"

#include <stdbool.h>
#include <stddef.h>

/* The tuner's own kernels in device_kernels.cu. */
#define SUPPORT_KERNELS(X)                                                                         \
    X(empty)                                                                                       \
    X(delay)                                                                                       \
    X(read)                                                                                        \
    X(fill)                                                                                        \
    X(compare)                                                                                     \
    X(checksum)                                                                                    \
    X(check_guards)

enum support_kernel {
#define X(name) SUPPORT_##name,
    SUPPORT_KERNELS(X)
#undef X
        SUPPORT_KERNEL_COUNT
};

struct device_context {
    struct driver driver;
    struct gpu gpu;
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CUmodule support_module;
    CUfunction support[SUPPORT_KERNEL_COUNT];
    CUresult last; /* of the last call that failed */
};

/* CUDA(context, call, arguments): 0, or the error that names the call. For use inside functions
 * with `error`. */
#define CUDA(device, function, ...)                                                                \
    device_check((device), (device)->driver.function(__VA_ARGS__), #function, error)

int device_check(struct device_context *device, CUresult result, const char *call,
                 struct error *error);

/* How many GPUs there are, and what is known of one; need driver_open(), no context. */
int device_count(struct device_context *device, int *count, struct error *error);
int device_describe(struct device_context *device, int ordinal, struct error *error);

/* Makes the primary context of device->device current, with a stream. */
int device_start(struct device_context *device, struct error *error);

/* Lets the driver, which may have put it off (lazy loading), load a function: by asking for one of the
 * few attributes that only a loaded one has (cuFuncGetAttribute names them). */
int device_load_function(struct device_context *device, CUfunction function, struct error *error);

/* Loads the tuner's own kernels from a cubin in memory. */
int device_load_support(struct device_context *device, const void *cubin, struct error *error);

/* Queues one of the tuner's own kernels with one thread. */
int device_launch_single(struct device_context *device, enum support_kernel kernel,
                         void **arguments, struct error *error);

/*
 * Queues one of the tuner's own kernels with enough blocks of 256 threads for `count` elements (at
 * most 8 per SM: they all stride). `arguments` as cuLaunchKernel wants them.
 */
int device_launch_support(struct device_context *device, enum support_kernel kernel, uint64_t count,
                          void **arguments, struct error *error);

/* Waits for everything queued. */
int device_synchronise(struct device_context *device, struct error *error);

/* Whether a failure with this result leaves the context unusable. */
bool device_is_lost(CUresult result);

#endif
