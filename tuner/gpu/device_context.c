#include "gpu/device_context.h"

#include <stdio.h>
#include <string.h>

int device_check(struct device_context *device, CUresult result, const char *call,
                 struct error *error)
{
    if (result != CUDA_SUCCESS)
        device->last = result;
    return driver_check(&device->driver, result, call, error);
}

int device_count(struct device_context *device, int *count, struct error *error)
{
    return CUDA(device, cuDeviceGetCount, count);
}

static int read_attributes(struct device_context *device, struct error *error)
{
    static const CUdevice_attribute attributes[] = {
#define X(name, suffix, text) [GPU_##name] = CU_DEVICE_ATTRIBUTE_##suffix,
        GPU_ATTRIBUTES(X)
#undef X
    };
    for (size_t i = 0; i < GPU_ATTRIBUTE_COUNT; i++) {
        int value = 0;
        int status = CUDA(device, cuDeviceGetAttribute, &value, attributes[i], device->device);
        if (status != 0)
            return status;
        device->gpu.attributes[i] = value;
    }
    return 0;
}

static int read_identity(struct device_context *device, struct error *error)
{
    struct gpu *gpu = &device->gpu;
    CUuuid uuid;
    size_t bytes = 0;
    int version = 0;
    int status = CUDA(device, cuDeviceGetName, gpu->name, sizeof gpu->name, device->device);
    if (status == 0)
        status = CUDA(device, cuDeviceGetUuid, &uuid, device->device);
    if (status == 0)
        status = CUDA(device, cuDeviceTotalMem, &bytes, device->device);
    if (status == 0)
        status = CUDA(device, cuDriverGetVersion, &version);
    if (status != 0)
        return status;
    gpu->memory_bytes = (int64_t)bytes;
    (void)snprintf(gpu->driver, sizeof gpu->driver, "%d.%d", version / 1000, version % 1000 / 10);
    char *text = gpu->uuid + snprintf(gpu->uuid, sizeof gpu->uuid, "GPU-");
    for (size_t i = 0; i < 16; i++) {
        bool dash = i == 4 || i == 6 || i == 8 || i == 10;
        text += snprintf(text, 4, "%s%02x", dash ? "-" : "", (unsigned char)uuid.bytes[i]);
    }
    return 0;
}

static int read_capability(struct device_context *device, struct error *error)
{
    int major = 0;
    int minor = 0;
    int status = CUDA(device, cuDeviceGetAttribute, &major,
                      CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device->device);
    if (status == 0)
        status = CUDA(device, cuDeviceGetAttribute, &minor,
                      CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device->device);
    device->gpu.compute_capability = 10 * major + minor;
    (void)snprintf(device->gpu.arch, sizeof device->gpu.arch, "sm_%d", 10 * major + minor);
    return status;
}

int device_describe(struct device_context *device, int ordinal, struct error *error)
{
    int count = 0;
    int status = device_count(device, &count, error);
    if (status != 0)
        return status;
    if (ordinal < 0 || ordinal >= count)
        return error_set(error, ERROR_DEVICE, "device %d not found; there are %d, numbered from 0",
                         ordinal, count);
    device->gpu = (struct gpu){0};
    status = CUDA(device, cuDeviceGet, &device->device, ordinal);
    if (status == 0)
        status = read_identity(device, error);
    if (status == 0)
        status = read_capability(device, error);
    if (status == 0)
        status = read_attributes(device, error);
    return status;
}

int device_start(struct device_context *device, struct error *error)
{
    int status = CUDA(device, cuDevicePrimaryCtxRetain, &device->context, device->device);
    if (status == 0)
        status = CUDA(device, cuCtxSetCurrent, device->context);
    if (status == 0)
        status = CUDA(device, cuStreamCreate, &device->stream, CU_STREAM_NON_BLOCKING);
    return status;
}

int device_load_function(struct device_context *device, CUfunction function, struct error *error)
{
    int threads;
    return CUDA(device, cuFuncGetAttribute, &threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                function);
}

int device_load_support(struct device_context *device, const void *cubin, struct error *error)
{
    static const char *const names[] = {
#define X(name) [SUPPORT_##name] = "autotune_" #name,
        SUPPORT_KERNELS(X)
#undef X
    };
    int status = CUDA(device, cuModuleLoadData, &device->support_module, cubin);
    for (size_t i = 0; i < SUPPORT_KERNEL_COUNT && status == 0; i++) {
        status = CUDA(device, cuModuleGetFunction, &device->support[i], device->support_module,
                      names[i]);
        if (status == 0)
            status = device_load_function(device, device->support[i], error);
    }
    return status;
}

int device_launch_single(struct device_context *device, enum support_kernel kernel,
                         void **arguments, struct error *error)
{
    return CUDA(device, cuLaunchKernel, device->support[kernel], 1, 1, 1, 1, 1, 1, 0,
                device->stream, arguments, NULL);
}

int device_launch_support(struct device_context *device, enum support_kernel kernel, uint64_t count,
                          void **arguments, struct error *error)
{
    uint64_t wanted = (count + 255) / 256;
    uint64_t most = (uint64_t)device->gpu.attributes[GPU_sm_count] * 8;
    unsigned blocks = (unsigned)(wanted == 0 ? 1 : wanted < most ? wanted : most);
    return CUDA(device, cuLaunchKernel, device->support[kernel], blocks, 1, 1, 256, 1, 1, 0,
                device->stream, arguments, NULL);
}

int device_synchronise(struct device_context *device, struct error *error)
{
    return CUDA(device, cuStreamSynchronize, device->stream);
}

int device_upload(struct device_context *device, CUdeviceptr to, const void *from, size_t bytes,
                  struct error *error)
{
    int status = CUDA(device, cuMemcpyHtoD, to, from, bytes);
    return status != 0 ? status : CUDA(device, cuStreamSynchronize, NULL);
}

bool device_is_lost(CUresult result)
{
    switch (result) {
    case CUDA_SUCCESS:
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_OUT_OF_MEMORY:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NOT_FOUND:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_NOT_READY:
    case CUDA_ERROR_INVALID_CLUSTER_SIZE:
    case CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND:
    case CUDA_ERROR_SHARED_OBJECT_INIT_FAILED:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        return false;
    default:
        return true;
    }
}

bool device_has_failed(CUresult result)
{
    switch (result) {
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_SYSTEM_NOT_READY:
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_MPS_CONNECTION_FAILED:
    case CUDA_ERROR_MPS_RPC_FAILURE:
    case CUDA_ERROR_MPS_SERVER_NOT_READY:
        return true;
    default:
        return false;
    }
}
