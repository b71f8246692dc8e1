/*
 * The device worker's GPU: the driver, a context, one stream and the tuner's own kernels. A variant
 * can destroy the context (an illegal address, a launch that never ends), so the context lives in
 * its own process.
 *
 * `last` holds the CUresult of the last failed call. After running a variant, read it to see what
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
    X(border)                                                                                      \
    X(compare)                                                                                     \
    X(checksum)                                                                                    \
    X(fingerprint)                                                                                 \
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
    CUresult last;         /* of the last call that failed */
    uint64_t wanted_bytes; /* of the last buffer for which there was no memory */
};

/* Calls a driver function: CUDA(device, cuMemAlloc, &pointer, size). Returns 0 or ERROR_DEVICE with
 * a message that names the call. The calling function must have a variable `error`. */
#define CUDA(device, function, ...)                                                                \
    device_check((device), (device)->driver.function(__VA_ARGS__), #function, error)

int device_check(struct device_context *device, CUresult result, const char *call,
                 struct error *error);

/* Count the GPUs; read one's attributes into device->gpu. Call driver_open() first; no context is
 * needed. */
int device_count(struct device_context *device, int *count, struct error *error);
int device_describe(struct device_context *device, int ordinal, struct error *error);

/* Makes the primary context of device->device current, with a stream. */
int device_start(struct device_context *device, struct error *error);

/* Makes the driver load a function now, even with lazy loading: reads one of the attributes that
 * only a loaded function has (listed at cuFuncGetAttribute). */
int device_load_function(struct device_context *device, CUfunction function, struct error *error);

/* Loads the tuner's own kernels from a cubin in memory. */
int device_load_support(struct device_context *device, const void *cubin, struct error *error);

/* Queues one of the tuner's own kernels with one thread. */
int device_launch_single(struct device_context *device, enum support_kernel kernel,
                         void **arguments, struct error *error);

/*
 * Queues one of the tuner's own kernels with enough blocks of 256 threads for `count` elements, but
 * at most 8 blocks per SM, because these kernels use grid-stride loops. `arguments` are those of
 * cuLaunchKernel.
 */
int device_launch_support(struct device_context *device, enum support_kernel kernel, uint64_t count,
                          void **arguments, struct error *error);

/* Waits until all queued work is done. */
int device_synchronise(struct device_context *device, struct error *error);

/* Copies from the host, and waits until the bytes have arrived: the driver may return before, and the
 * launches' stream would not wait for them. */
int device_upload(struct device_context *device, CUdeviceptr to, const void *from, size_t bytes,
                  struct error *error);

/* True if a failure with this result leaves the context unusable. */
bool device_is_lost(CUresult result);

/* True if it is a failure of the GPU or the system, which no kernel can cause. */
bool device_has_failed(CUresult result);

#endif
