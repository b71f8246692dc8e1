/*
 * The CUDA driver, opened at run time, and a GPU: its context, one stream and the tuner's own kernels. Only
 * this module names the driver's symbols; the types come from the toolkit's header. In the tuner, only the
 * device worker opens the driver: a variant can destroy the context (an illegal address, a launch that never
 * ends), so that lives in a process of its own.
 *
 * To use another entry point, add a line with the version of its signature to DRIVER_FUNCTIONS.
 */
#ifndef AUTOTUNE_DRIVER_H
#define AUTOTUNE_DRIVER_H

#include "base/error.h"
#include "record/gpu.h"

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

/* X(name, CUDA version that selects the symbol's ABI, as cuGetProcAddress takes it) */
#define DRIVER_FUNCTIONS(X)                                                                        \
    X(cuInit, 2000)                                                                                \
    X(cuDriverGetVersion, 2020)                                                                    \
    X(cuGetErrorName, 6000)                                                                        \
    X(cuGetErrorString, 6000)                                                                      \
    X(cuDeviceGetCount, 2000)                                                                      \
    X(cuDeviceGet, 2000)                                                                           \
    X(cuDeviceGetName, 2000)                                                                       \
    X(cuDeviceGetUuid, 11040)                                                                      \
    X(cuDeviceGetAttribute, 2000)                                                                  \
    X(cuDeviceTotalMem, 3020)                                                                      \
    X(cuDevicePrimaryCtxRetain, 7000)                                                              \
    X(cuDevicePrimaryCtxRelease, 11000)                                                            \
    X(cuCtxSetCurrent, 4000)                                                                       \
    X(cuCtxGetDevice, 2000)                                                                        \
    X(cuMemGetInfo, 3020)                                                                          \
    X(cuMemAlloc, 3020)                                                                            \
    X(cuMemFree, 3020)                                                                             \
    X(cuMemAllocHost, 3020)                                                                        \
    X(cuMemFreeHost, 2000)                                                                         \
    X(cuMemcpyHtoD, 3020)                                                                          \
    X(cuMemcpyDtoH, 3020)                                                                          \
    X(cuMemcpyDtoHAsync, 3020)                                                                     \
    X(cuMemcpyDtoDAsync, 3020)                                                                     \
    X(cuMemsetD8Async, 3020)                                                                       \
    X(cuMemsetD2D8Async, 3020)                                                                     \
    X(cuModuleLoadData, 2000)                                                                      \
    X(cuModuleUnload, 2000)                                                                        \
    X(cuModuleGetFunction, 2000)                                                                   \
    X(cuModuleGetGlobal, 3020)                                                                     \
    X(cuTexObjectCreate, 5000)                                                                     \
    X(cuTexObjectDestroy, 5000)                                                                    \
    X(cuTensorMapEncodeTiled, 12000)                                                               \
    X(cuFuncGetAttribute, 2020)                                                                    \
    X(cuFuncSetAttribute, 9000)                                                                    \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050)                                           \
    X(cuOccupancyMaxActiveClusters, 11070)                                                         \
    X(cuLaunchKernel, 4000)                                                                        \
    X(cuLaunchCooperativeKernel, 9000)                                                             \
    X(cuLaunchKernelEx, 11060)                                                                     \
    X(cuStreamCreate, 2000)                                                                        \
    X(cuStreamSynchronize, 2000)                                                                   \
    X(cuStreamBeginCapture, 10010)                                                                 \
    X(cuStreamEndCapture, 10000)                                                                   \
    X(cuGraphInstantiateWithFlags, 11040)                                                          \
    X(cuGraphLaunch, 10000)                                                                        \
    X(cuGraphExecDestroy, 10000)                                                                   \
    X(cuGraphDestroy, 10000)                                                                       \
    X(cuEventCreate, 2000)                                                                         \
    X(cuEventRecord, 2000)                                                                         \
    X(cuEventQuery, 2000)                                                                          \
    X(cuEventElapsedTime, 2000)

/* The driver's functions under their own names: driver->cuInit(0). */
struct driver {
    void *library;
#define X(function, version) __typeof__(&function) function;
    DRIVER_FUNCTIONS(X)
#undef X
};

/*
 * Opens the libcuda.so.1 on the dynamic linker's search path and initialises it. Returns 0, or
 * ERROR_DEVICE with what is missing: the library (no NVIDIA driver), an entry point (driver older
 * than CUDA 12.0), or a GPU.
 */
int driver_open(struct driver *driver, struct error *error);
void driver_close(struct driver *driver);

/* The driver's own version, "580.95.05", as the name of the library's file has it; false if it does
 * not, as on WSL. */
bool driver_file_version(const struct driver *driver, char *version, size_t bytes);

/* Returns 0 if `result` is CUDA_SUCCESS; otherwise ERROR_DEVICE with the message "CALL failed:
 * CUDA_ERROR_NAME (explanation)". */
int driver_check(const struct driver *driver, CUresult result, const char *call,
                 struct error *error);

/* For example "CUDA_ERROR_ILLEGAL_ADDRESS"; "unknown CUDA error" if the driver has no name for
 * it. */
const char *driver_error_name(const struct driver *driver, CUresult result);

/* --- a GPU --- */

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
    X(soil)                                                                                        \
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
    CUresult last;         /* of the last call that failed: read it to see what a variant did */
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

/* Queues filling the first `most` bytes of the shared memory of every multiprocessor with the byte `pattern`:
 * what a kernel reads there without having written it is then no earlier kernel's. */
int device_soil_shared(struct device_context *device, unsigned char pattern, uint64_t most,
                       struct error *error);

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
