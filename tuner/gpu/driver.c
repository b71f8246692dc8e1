#include "gpu/driver.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OLDEST_DRIVER = 12000 };

typedef CUresult (*get_proc_address)(const char *symbol, void **function, int version,
                                     cuuint64_t flags, CUdriverProcAddressQueryResult *status);

/* dlsym returns an object pointer, which ISO C cannot cast to a function pointer. */
static void copy_pointer(void *function, void *const *symbol)
{
    memcpy(function, symbol, sizeof *symbol);
}

static int resolve(struct driver *driver, get_proc_address get, struct error *error)
{
    static const struct {
        const char *name;
        int version;
        size_t offset;
    } functions[] = {
#define X(function, version) {#function, version, offsetof(struct driver, function)},
        DRIVER_FUNCTIONS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = NULL;
        CUresult result = get(functions[i].name, &symbol, functions[i].version,
                              CU_GET_PROC_ADDRESS_DEFAULT, NULL);
        if (result != CUDA_SUCCESS || symbol == NULL)
            return error_set(error, ERROR_DEVICE,
                             "the driver has no '%s'; install an NVIDIA driver for CUDA 12.0 or "
                             "newer",
                             functions[i].name);
        copy_pointer((char *)driver + functions[i].offset, &symbol);
    }
    return 0;
}

static int initialise(struct driver *driver, struct error *error)
{
    int version = 0;
    int status =
        driver_check(driver, driver->cuDriverGetVersion(&version), "cuDriverGetVersion", error);
    if (status == 0 && version < OLDEST_DRIVER)
        status = error_set(error, ERROR_DEVICE,
                           "the driver is for CUDA %d.%d; install one for 12.0 or newer",
                           version / 1000, version % 1000 / 10);
    if (status == 0)
        status = driver_check(driver, driver->cuInit(0), "cuInit", error);
    return status;
}

int driver_open(struct driver *driver, struct error *error)
{
    get_proc_address get = NULL;
    *driver = (struct driver){0};
    driver->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver->library == NULL)
        return error_set(error, ERROR_DEVICE, "no NVIDIA driver found (%s)", dlerror());
    void *symbol = dlsym(driver->library, "cuGetProcAddress_v2");
    if (symbol == NULL)
        symbol = dlsym(driver->library, "cuGetProcAddress");
    copy_pointer(&get, &symbol);
    int status = get != NULL ? resolve(driver, get, error)
                             : error_set(error, ERROR_DEVICE,
                                         "the driver has no 'cuGetProcAddress'; install an NVIDIA "
                                         "driver for CUDA 12.0 or newer");
    if (status == 0)
        status = initialise(driver, error);
    if (status != 0)
        driver_close(driver);
    return status;
}

void driver_close(struct driver *driver)
{
    if (driver->library != NULL)
        (void)dlclose(driver->library);
    *driver = (struct driver){0};
}

bool driver_file_version(const struct driver *driver, char *version, size_t bytes)
{
    enum { OLDEST_BRANCH = 100 }; /* libcuda.so.1 and libcuda.so.1.1 name the ABI */
    struct link_map *map = NULL;
    char *path =
        dlinfo(driver->library, RTLD_DI_LINKMAP, &map) == 0 ? realpath(map->l_name, NULL) : NULL;
    const char *at = path != NULL ? strstr(strrchr(path, '/'), ".so.") : NULL;
    bool known = at != NULL && strtol(at + strlen(".so."), NULL, 10) >= OLDEST_BRANCH;
    if (known)
        (void)snprintf(version, bytes, "%s", at + strlen(".so."));
    free(path);
    return known;
}

const char *driver_error_name(const struct driver *driver, CUresult result)
{
    const char *name = NULL;
    if (driver->cuGetErrorName(result, &name) != CUDA_SUCCESS || name == NULL)
        return "unknown CUDA error";
    return name;
}

int driver_check(const struct driver *driver, CUresult result, const char *call,
                 struct error *error)
{
    if (result == CUDA_SUCCESS)
        return 0;
    const char *text = NULL;
    if (driver->cuGetErrorString(result, &text) != CUDA_SUCCESS || text == NULL)
        text = "no explanation";
    return error_set(error, ERROR_DEVICE, "%s failed: %s (%s)", call,
                     driver_error_name(driver, result), text);
}

/* --- a GPU --- */

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

static int read_attribute(struct device_context *device, CUdevice_attribute attribute,
                          int64_t *value, struct error *error)
{
    int number = 0;
    int status = CUDA(device, cuDeviceGetAttribute, &number, attribute, device->device);
    *value = number;
    return status;
}

static int read_attributes(struct device_context *device, struct error *error)
{
    static const CUdevice_attribute attributes[] = {
#define X(name, suffix, text) [GPU_##name] = CU_DEVICE_ATTRIBUTE_##suffix,
        GPU_ATTRIBUTES(X)
#undef X
    };
    struct gpu *gpu = &device->gpu;
    int64_t major = 0;
    int64_t minor = 0;
    int status =
        read_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major, error);
    if (status == 0)
        status =
            read_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor, error);
    gpu->compute_capability = (int)(10 * major + minor);
    (void)snprintf(gpu->arch, sizeof gpu->arch, "sm_%d", gpu->compute_capability);
    for (size_t i = 0; i < GPU_ATTRIBUTE_COUNT && status == 0; i++)
        status = read_attribute(device, attributes[i], &gpu->attributes[i], error);
    return status;
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
    return status != 0 ? status
                       : CUDA(device, cuFuncSetAttribute, device->support[SUPPORT_soil],
                              CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                              (int)device->gpu.attributes[GPU_max_shared_bytes_per_block_optin]);
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

int device_soil_shared(struct device_context *device, unsigned char pattern, uint64_t most,
                       struct error *error)
{
    CUfunction soil = device->support[SUPPORT_soil];
    uint64_t all = (uint64_t)device->gpu.attributes[GPU_max_shared_bytes_per_block_optin];
    unsigned bytes = (unsigned)(most < all ? most : all);
    unsigned words = bytes / 4;
    unsigned bits = 0x01010101u * pattern;
    void *arguments[] = {&bits, &words};
    return CUDA(device, cuLaunchKernel, soil, (unsigned)device->gpu.attributes[GPU_sm_count], 1, 1,
                1024, 1, 1, bytes, device->stream, arguments, NULL);
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
