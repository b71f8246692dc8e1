/* The driver's entry points: each counts, logs and fails as control.c says, then does its work. */
#include "standin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NS_PER_MS 1e6
#define EVENT_TICK_NS 32 /* resolution of events on the GPUs that we measured */
#define HOST_BYTES_PER_NS 25
#define MEMORY_BYTES_PER_NS 2000

struct CUctx_st {
    int device;
    unsigned references;
    CUresult broken;  /* of a kernel that faulted: every further call answers it */
    CUresult pending; /* a fault that the host has not yet waited for */
    bool hanging;     /* a kernel that never ends is queued */
};

/* A graph is a sequence of launches, as captured from one stream. */
struct graph_node {
    CUfunction function;
    struct launch work; /* but for its entry, which is the function's name */
    void **parameters;  /* owned */
};

/* Graphs, streams and events are in a list of their kind. */
struct handle {
    struct handle *next;
};

struct CUgraph_st {
    struct handle handle;
    struct graph_node *nodes;
    size_t count;
};

struct CUstream_st {
    struct handle handle;
    struct CUgraph_st *capture; /* into which launches go; NULL: they run */
    bool spoiled;               /* by a call that cannot be captured */
};

struct CUevent_st {
    struct handle handle;
    struct CUctx_st *context;
    bool timed;
    bool recorded;
    bool done;
    double time_ns;
};

static bool opened; /* by cuGetProcAddress; NVRTC opens the library as well, and is not counted */
static bool initialised;
static struct CUctx_st contexts[DEVICES_MAX];
static struct CUctx_st *current;
static struct handle *streams;
static struct handle *events;
static struct handle *graphs; /* and what is made of them: a CUgraphExec is a graph as well */
static const struct CUevent_st *last_polled; /* by the call before this one */
static uint64_t queries;

static void *new_handle(struct handle **list, size_t bytes)
{
    struct handle *made = new_zeroed(bytes);
    made->next = *list;
    return *list = made;
}

/* The link to the object of this handle; a link to NULL if there is none. */
static struct handle **find_handle(struct handle **list, const void *handle)
{
    while (*list != NULL && *list != handle)
        list = &(*list)->next;
    return list;
}

static bool has_handle(struct handle *list, const void *handle)
{
    return *find_handle(&list, handle) != NULL;
}

/* --- What every call does first --- */

static bool is_sticky(CUresult error)
{
    return (error >= CUDA_ERROR_ASSERT && error <= CUDA_ERROR_LAUNCH_FAILED) ||
           error == CUDA_ERROR_ILLEGAL_ADDRESS || error == CUDA_ERROR_LAUNCH_TIMEOUT ||
           error == CUDA_ERROR_ECC_UNCORRECTABLE;
}

enum need { NEED_NOTHING, NEED_INIT, NEED_CONTEXT };

static CUresult begin(enum call call, enum need need)
{
    CUresult asked = opened ? control_call(call) : CUDA_SUCCESS;
    if (call != CALL_cuEventQuery)
        last_polled = NULL;
    if (need == NEED_NOTHING)
        return asked;
    if (current != NULL && current->broken != CUDA_SUCCESS)
        return current->broken;
    if (asked != CUDA_SUCCESS) {
        if (current != NULL && is_sticky(asked))
            current->broken = asked;
        return asked;
    }
    if (!initialised)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (need == NEED_CONTEXT && (current == NULL || current->references == 0))
        return CUDA_ERROR_INVALID_CONTEXT;
    return CUDA_SUCCESS;
}

#define BEGIN(function, need)                                                                      \
    do {                                                                                           \
        CUresult begun = begin(CALL_##function, need);                                             \
        if (begun != CUDA_SUCCESS)                                                                 \
            return begun;                                                                          \
    } while (0)

/* Waits for everything queued: never returns behind a kernel that never ends. */
static CUresult wait_for_all(void)
{
    while (current->hanging)
        pause();
    for (struct handle *handle = events; handle != NULL; handle = handle->next) {
        struct CUevent_st *event = (struct CUevent_st *)handle;
        if (event->context == current && event->recorded)
            event->done = true;
    }
    current->broken = current->pending;
    return current->broken;
}

/* What cuMemcpyHtoD() has taken from the host and not yet brought to the device: the driver may return
 * in between, and only the NULL stream waits for it. */
static struct {
    void *to, *bytes;
    size_t count;
} upload;

static void finish_upload(void)
{
    if (upload.bytes != NULL)
        memcpy(upload.to, upload.bytes, upload.count);
    free(upload.bytes);
    upload.bytes = NULL;
}

/* --- Errors, versions, entry points --- */

/* The GPUs that $CUDA_VISIBLE_DEVICES lists, by number or UUID (or its beginning), up to the first that
 * does not exist; all of them if it is not set. */
static int visible[DEVICES_MAX];
static int visible_count;

/* -1: there is none. */
static int find_device(const char *name)
{
    char *end;
    char uuid[UUID_BYTES];
    long number = strtol(name, &end, 10);
    if (end != name && *end == '\0')
        return number >= 0 && number < control()->devices ? (int)number : -1;
    for (int i = 0; i < control()->devices; i++) {
        control_uuid(i, uuid);
        if (strlen(name) > 4 && strncmp(uuid, name, strlen(name)) == 0)
            return i;
    }
    return -1;
}

static void find_visible(void)
{
    char list[1024] = "";
    char *rest = list;
    const char *stated = getenv("CUDA_VISIBLE_DEVICES");
    visible_count = 0;
    for (int i = 0; stated == NULL && i < control()->devices; i++)
        visible[visible_count++] = i;
    if (stated != NULL)
        (void)snprintf(list, sizeof list, "%s", stated);
    for (char *name; stated != NULL && (name = strsep(&rest, ",")) != NULL;) {
        int device = find_device(name);
        if (device < 0 || visible_count == DEVICES_MAX)
            break;
        visible[visible_count++] = device;
    }
}

CUresult cuInit(unsigned flags)
{
    BEGIN(cuInit, NEED_NOTHING);
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    find_visible();
    control_note("shows %d of %d", visible_count, control()->devices);
    if (visible_count == 0)
        return CUDA_ERROR_NO_DEVICE;
    initialised = true;
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
    BEGIN(cuDriverGetVersion, NEED_NOTHING);
    *version = control()->driver_version;
    return CUDA_SUCCESS;
}

static const struct {
    CUresult error;
    const char *name, *text;
} errors[] = {
#define E(error, text) {error, #error, text},
    /* clang-format off */
    E(CUDA_SUCCESS, "no error")
    E(CUDA_ERROR_INVALID_VALUE, "invalid argument")
    E(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")
    E(CUDA_ERROR_NOT_INITIALIZED, "initialization error")
    E(CUDA_ERROR_DEINITIALIZED, "driver shutting down")
    E(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected")
    E(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal")
    E(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid")
    E(CUDA_ERROR_INVALID_CONTEXT, "invalid device context")
    E(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device")
    E(CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered")
    E(CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable")
    E(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle")
    E(CUDA_ERROR_NOT_FOUND, "named symbol not found")
    E(CUDA_ERROR_NOT_READY, "device not ready")
    E(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered")
    E(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch")
    E(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated")
    E(CUDA_ERROR_ASSERT, "device-side assert triggered")
    E(CUDA_ERROR_HARDWARE_STACK_ERROR, "hardware stack error")
    E(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered")
    E(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address")
    E(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure")
    E(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch")
    E(CUDA_ERROR_NOT_SUPPORTED, "operation not supported")
    E(CUDA_ERROR_SYSTEM_NOT_READY, "system not yet initialized")
    E(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state")
    E(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing")
    E(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture")
    E(CUDA_ERROR_INVALID_CLUSTER_SIZE, "a kernel launch error has occurred due to cluster misconfiguration")
    E(CUDA_ERROR_UNKNOWN, "unknown error")
/* clang-format on */
#undef E
};

CUresult driver_error(const char *name)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strcmp(errors[i].name, name) == 0)
            return errors[i].error;
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
    BEGIN(cuGetErrorName, NEED_NOTHING);
    *name = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error == error)
            *name = errors[i].name;
    return *name != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    BEGIN(cuGetErrorString, NEED_NOTHING);
    *text = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error == error)
            *text = errors[i].text;
    return *text != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static const struct entry {
    const char *name;
    int version;
    void (*function)(void);
} entries[] = {
#define X(function, version) {#function, version, (void (*)(void))function},
    DRIVER_FUNCTIONS(X)
#undef X
};

CUresult cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult *status)
{
    (void)flags;
    opened = true;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    *function = NULL;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        const struct entry *entry = &entries[i];
        if (strcmp(symbol, entry->name) != 0 || (enum call)(i + 1) == control()->missing)
            continue;
        if (version < entry->version) {
            found = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        } else {
            found = CU_GET_PROC_ADDRESS_SUCCESS;
            memcpy(function, &entry->function, sizeof *function);
        }
    }
    if (status != NULL)
        *status = found;
    return found == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* NVRTC opens the driver too, calls this and trusts it to be there; a refusal is all it needs. */
CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
    (void)id;
    *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}

/* --- Devices --- */

CUresult cuDeviceGetCount(int *count)
{
    BEGIN(cuDeviceGetCount, NEED_INIT);
    *count = visible_count;
    return CUDA_SUCCESS;
}

static bool is_device(CUdevice device)
{
    return device >= 0 && device < control()->devices;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    BEGIN(cuDeviceGet, NEED_INIT);
    if (ordinal < 0 || ordinal >= visible_count)
        return CUDA_ERROR_INVALID_DEVICE;
    *device = visible[ordinal];
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    BEGIN(cuDeviceGetName, NEED_INIT);
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (name == NULL || length < 1)
        return CUDA_ERROR_INVALID_VALUE;
    strncpy(name, control_of(device)->name, (size_t)length);
    name[length - 1] = '\0';
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    BEGIN(cuDeviceGetUuid, NEED_INIT);
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    for (size_t i = 0; i < sizeof uuid->bytes; i++)
        uuid->bytes[i] = (char)(i + (size_t)device + (size_t)control()->first_uuid);
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    BEGIN(cuDeviceTotalMem, NEED_INIT);
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    *bytes = (size_t)control_of(device)->memory_bytes;
    return CUDA_SUCCESS;
}

int64_t device_attribute(CUdevice_attribute attribute)
{
#define A(name, value) {CU_DEVICE_ATTRIBUTE_##name, value},
    /* clang-format off */
    const struct {
        CUdevice_attribute attribute;
        int64_t value;
    } values[] = {
        A(MULTIPROCESSOR_COUNT, control()->sm_count) A(L2_CACHE_SIZE, control()->l2_bytes)
        A(COMPUTE_CAPABILITY_MAJOR, control()->compute_capability / 10)
        A(COMPUTE_CAPABILITY_MINOR, control()->compute_capability % 10)
        A(WARP_SIZE, 32) A(MAX_BLOCKS_PER_MULTIPROCESSOR, 32) A(MAX_THREADS_PER_BLOCK, 1024)
        A(MAX_BLOCK_DIM_X, 1024) A(MAX_BLOCK_DIM_Y, 1024) A(MAX_BLOCK_DIM_Z, 64)
        A(MAX_GRID_DIM_X, INT32_MAX) A(MAX_GRID_DIM_Y, 65535) A(MAX_GRID_DIM_Z, 65535)
        A(RESERVED_SHARED_MEMORY_PER_BLOCK, 1024) A(MAX_THREADS_PER_MULTIPROCESSOR, 2048)
        A(MAX_REGISTERS_PER_BLOCK, 65536) A(MAX_REGISTERS_PER_MULTIPROCESSOR, 65536)
        A(TOTAL_CONSTANT_MEMORY, 65536) A(MAX_SHARED_MEMORY_PER_BLOCK, 49152)
        A(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448)
        A(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472) A(CLOCK_RATE, 1980000)
        A(MEMORY_CLOCK_RATE, 3201000) A(GLOBAL_MEMORY_BUS_WIDTH, 6144)
        A(COOPERATIVE_LAUNCH, 1) A(UNIFIED_ADDRESSING, 1)
    };
/* clang-format on */
#undef A
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i].attribute == attribute)
            return values[i].value;
    return -1;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    BEGIN(cuDeviceGetAttribute, NEED_INIT);
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    int before = control_choose(device);
    int64_t known = device_attribute(attribute);
    (void)control_choose(before);
    if (known < 0)
        return CUDA_ERROR_INVALID_VALUE;
    *value = (int)known;
    return CUDA_SUCCESS;
}

/* --- Contexts --- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    BEGIN(cuDevicePrimaryCtxRetain, NEED_INIT);
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    contexts[device].device = device;
    (void)control_choose(device);
    if (contexts[device].references++ == 0)
        control_note_context(device, 0);
    *context = &contexts[device];
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    CUresult begun = begin(CALL_cuDevicePrimaryCtxRelease, NEED_INIT);
    if (begun != CUDA_SUCCESS && !(current != NULL && begun == current->broken))
        return begun;
    if (!is_device(device) || contexts[device].references == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    struct CUctx_st *context = &contexts[device];
    while (context->references == 1 && context->hanging)
        pause();
    if (--context->references == 0) {
        finish_upload();
        memory_clear(device);
        control_forget_context(device);
        if (current == context)
            current = NULL;
    }
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    BEGIN(cuCtxSetCurrent, NEED_INIT);
    current = context;
    return CUDA_SUCCESS;
}

/* This and the next are not the tuner's: tuner/python calls them. */
CUresult cuCtxGetCurrent(CUcontext *context)
{
    *context = current;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
    return current != NULL ? wait_for_all() : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    BEGIN(cuCtxGetDevice, NEED_CONTEXT);
    *device = current->device;
    return CUDA_SUCCESS;
}

/* --- Memory --- */

CUresult cuMemGetInfo(size_t *free_bytes, size_t *total)
{
    BEGIN(cuMemGetInfo, NEED_CONTEXT);
    *total = (size_t)control()->memory_bytes;
    *free_bytes = memory_free_bytes(current->device);
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes)
{
    BEGIN(cuMemAlloc, NEED_CONTEXT);
    return memory_allocate(current->device, address, bytes);
}

static void *host_address(CUdeviceptr address)
{
    return (void *)(uintptr_t)address;
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    BEGIN(cuMemcpyHtoD, NEED_CONTEXT);
    CUresult waited = wait_for_all();
    finish_upload();
    if (waited != CUDA_SUCCESS)
        return waited;
    if (bytes == 0)
        return CUDA_SUCCESS;
    if (from == NULL || !memory_holds(to, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    upload.to = host_address(to);
    upload.bytes = malloc(bytes);
    upload.count = bytes;
    if (upload.bytes == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(upload.bytes, from, bytes);
    clock_advance((double)bytes / HOST_BYTES_PER_NS);
    return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr address)
{
    BEGIN(cuMemFree, NEED_CONTEXT);
    CUresult waited = wait_for_all();
    finish_upload();
    return waited != CUDA_SUCCESS ? waited : memory_free(address);
}

CUresult cuMemAllocHost(void **memory, size_t bytes)
{
    BEGIN(cuMemAllocHost, NEED_CONTEXT);
    if (bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    *memory = malloc(bytes);
    return *memory != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemFreeHost(void *memory)
{
    CUresult result = begin(CALL_cuMemFreeHost, NEED_CONTEXT);
    if (result == CUDA_SUCCESS)
        result = wait_for_all();
    free(memory); /* also in a broken context, or it would be a leak of the process that ends */
    return result;
}

static CUresult copy_to_host(void *to, CUdeviceptr from, size_t bytes)
{
    if (bytes == 0)
        return CUDA_SUCCESS;
    if (to == NULL || !memory_holds(from, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(to, host_address(from), bytes);
    clock_advance((double)bytes / HOST_BYTES_PER_NS);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    BEGIN(cuMemcpyDtoH, NEED_CONTEXT);
    CUresult waited = wait_for_all();
    finish_upload();
    return waited != CUDA_SUCCESS ? waited : copy_to_host(to, from, bytes);
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    BEGIN(cuMemcpyDtoHAsync, NEED_CONTEXT);
    (void)stream; /* to pageable memory, as here, it waits as cuMemcpyDtoH does */
    CUresult waited = wait_for_all();
    return waited != CUDA_SUCCESS ? waited : copy_to_host(to, from, bytes);
}

static bool is_stream(CUstream stream)
{
    return stream == NULL || has_handle(streams, stream);
}

/* The same, of a call that uses the stream: what comes on the NULL stream comes after the upload. */
static bool enter_stream(CUstream stream)
{
    if (stream == NULL)
        finish_upload();
    return is_stream(stream);
}

/* Whether calls on the stream are captured now, of which this one cannot be: it spoils the capture. */
static bool is_captured(CUstream stream)
{
    if (stream == NULL || stream->capture == NULL)
        return false;
    stream->spoiled = true;
    return true;
}

/* Of a call that cannot be captured. */
static CUresult enter_uncaptured(CUstream stream)
{
    if (!enter_stream(stream))
        return CUDA_ERROR_INVALID_HANDLE;
    return is_captured(stream) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

/* Nothing that is queued behind a kernel that faulted or never ends is carried out. */
static bool stream_stopped(void)
{
    return current->hanging || current->pending != CUDA_SUCCESS;
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    BEGIN(cuMemcpyDtoDAsync, NEED_CONTEXT);
    CUresult entered = enter_uncaptured(stream);
    if (entered != CUDA_SUCCESS || bytes == 0)
        return entered;
    if (!memory_holds(to, bytes) || !memory_holds(from, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (!stream_stopped())
        memmove(host_address(to), host_address(from), bytes);
    clock_advance((double)bytes / MEMORY_BYTES_PER_NS);
    return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char byte, size_t bytes, CUstream stream)
{
    BEGIN(cuMemsetD8Async, NEED_CONTEXT);
    CUresult entered = enter_uncaptured(stream);
    if (entered != CUDA_SUCCESS || bytes == 0)
        return entered;
    if (!memory_holds(to, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (!stream_stopped())
        memory_fill(to, byte, bytes);
    clock_advance((double)bytes / MEMORY_BYTES_PER_NS);
    return CUDA_SUCCESS;
}

CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char byte, size_t width,
                           size_t height, CUstream stream)
{
    BEGIN(cuMemsetD2D8Async, NEED_CONTEXT);
    CUresult entered = enter_uncaptured(stream);
    if (entered != CUDA_SUCCESS || width == 0 || height == 0)
        return entered;
    if (pitch < width || !memory_holds(to, (height - 1) * pitch + width))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t row = 0; row < height && !stream_stopped(); row++)
        memory_fill(to + row * pitch, byte, width);
    clock_advance((double)(width * height) / MEMORY_BYTES_PER_NS);
    return CUDA_SUCCESS;
}

/* --- Modules and functions --- */

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    BEGIN(cuModuleLoadData, NEED_CONTEXT);
    return module_load(current->device, image, module);
}

CUresult cuModuleUnload(CUmodule module)
{
    BEGIN(cuModuleUnload, NEED_CONTEXT);
    CUresult waited = wait_for_all();
    return waited != CUDA_SUCCESS ? waited : module_unload(module);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    BEGIN(cuModuleGetFunction, NEED_CONTEXT);
    return module_function(module, name, function);
}

CUresult cuModuleGetGlobal(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
{
    BEGIN(cuModuleGetGlobal, NEED_CONTEXT);
    return module_global(module, name, address, bytes);
}

struct listed_texture {
    struct handle handle;
    struct texture texture; /* which kernels get */
};

static struct handle *textures;

CUresult cuTexObjectCreate(CUtexObject *object, const CUDA_RESOURCE_DESC *memory,
                           const CUDA_TEXTURE_DESC *view, const CUDA_RESOURCE_VIEW_DESC *resource)
{
    BEGIN(cuTexObjectCreate, NEED_CONTEXT);
    bool linear = memory->resType == CU_RESOURCE_TYPE_LINEAR;
    if ((!linear && memory->resType != CU_RESOURCE_TYPE_PITCH2D) || resource != NULL)
        return CUDA_ERROR_NOT_SUPPORTED;
    CUdeviceptr address = linear ? memory->res.linear.devPtr : memory->res.pitch2D.devPtr;
    size_t bytes = linear ? memory->res.linear.sizeInBytes
                          : memory->res.pitch2D.pitchInBytes * memory->res.pitch2D.height;
    if (address % 512 != 0 || !memory_holds(address, bytes) ||
        (!linear && memory->res.pitch2D.pitchInBytes % 32 != 0))
        return CUDA_ERROR_INVALID_VALUE;
    struct listed_texture *made = new_handle(&textures, sizeof *made);
    made->texture = (struct texture){*memory, *view};
    *object = (CUtexObject)(uintptr_t)&made->texture;
    return CUDA_SUCCESS;
}

CUresult cuTexObjectDestroy(CUtexObject object)
{
    BEGIN(cuTexObjectDestroy, NEED_CONTEXT);
    struct handle **link = &textures;
    while (*link != NULL && (uintptr_t) & ((struct listed_texture *)*link)->texture != object)
        link = &(*link)->next;
    struct handle *destroyed = *link;
    if (destroyed == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *link = destroyed->next;
    free(destroyed);
    return CUDA_SUCCESS;
}

/* Whether the driver's documented limits hold, for elements of `size` bytes. */
static bool is_tensor(cuuint32_t rank, size_t size, const void *address, const cuuint64_t *extents,
                      const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *steps,
                      CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle)
{
    size_t alignment = interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16;
    size_t row = box[0] * size;
    bool right = rank >= (interleave != 0 ? 3 : 1) && rank <= 5 &&
                 (uintptr_t)address % alignment == 0 &&
                 (alignment == 16 || swizzle == CU_TENSOR_MAP_SWIZZLE_32B);
    for (cuuint32_t i = 0; right && i < rank; i++)
        right = extents[i] >= 1 && extents[i] <= 1ull << 32 && box[i] >= 1 && box[i] <= 256 &&
                steps[i] >= 1 && steps[i] <= 8 &&
                (i == 0 || (strides[i - 1] % alignment == 0 && strides[i - 1] < 1ull << 40));
    return right &&
           (interleave != 0 || (row % 16 == 0 && (swizzle == 0 || row <= 16u << (int)swizzle)));
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *encoded, CUtensorMapDataType type, cuuint32_t rank,
                                void *address, const cuuint64_t *extents, const cuuint64_t *strides,
                                const cuuint32_t *box, const cuuint32_t *steps,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill)
{
    BEGIN(cuTensorMapEncodeTiled, NEED_CONTEXT);
    static const size_t sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};
    struct tensor_map map = {.address = (uintptr_t)address,
                             .type = (uint8_t)type,
                             .rank = (uint8_t)rank,
                             .interleave = (uint8_t)interleave,
                             .swizzle = (uint8_t)swizzle,
                             .l2 = (uint8_t)l2,
                             .fill = (uint8_t)fill};
    _Static_assert(sizeof map <= sizeof *encoded, "a CUtensorMap has no room");
    if ((uintptr_t)encoded % 64 != 0 || (size_t)type >= sizeof sizes / sizeof *sizes ||
        !is_tensor(rank, sizes[type], address, extents, strides, box, steps, interleave, swizzle))
        return CUDA_ERROR_INVALID_VALUE;
    for (cuuint32_t i = 0; i < rank; i++) {
        map.dimensions[i] = (uint32_t)(extents[i] - 1);
        map.box[i] = (uint16_t)box[i];
        map.steps[i] = (uint8_t)steps[i];
        if (i > 0)
            map.strides[i - 1] = strides[i - 1];
    }
    memset(encoded, 0, sizeof *encoded);
    memcpy(encoded, &map, sizeof map);
    control_note("tensor map: type %d rank %u swizzle %d interleave %d l2 %d fill %d", (int)type,
                 rank, (int)swizzle, (int)interleave, (int)l2, (int)fill);
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    BEGIN(cuFuncGetAttribute, NEED_CONTEXT);
    if (!module_has_function(function))
        return CUDA_ERROR_INVALID_HANDLE;
    function->loaded = function->loaded || attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
    const struct {
        CUfunction_attribute attribute;
        int value;
    } values[] = {
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, module_function_threads(function)},
        {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function->static_shared_bytes},
        {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function->local_bytes},
        {CU_FUNC_ATTRIBUTE_NUM_REGS, function->registers},
        {CU_FUNC_ATTRIBUTE_PTX_VERSION, control()->compute_capability},
        {CU_FUNC_ATTRIBUTE_BINARY_VERSION, control()->compute_capability},
        {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function->max_dynamic_shared_bytes},
        {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, (int)function->cluster[0]},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, (int)function->cluster[1]},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, (int)function->cluster[2]},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i].attribute == attribute) {
            *value = values[i].value;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    BEGIN(cuFuncSetAttribute, NEED_CONTEXT);
    if (!module_has_function(function))
        return CUDA_ERROR_INVALID_HANDLE;
    if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
        function->large_clusters = value != 0;
        return CUDA_SUCCESS;
    }
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
        return value >= -1 && value <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    int64_t most = device_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) -
                   function->static_shared_bytes;
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 || value > most)
        return CUDA_ERROR_INVALID_VALUE;
    function->max_dynamic_shared_bytes = value;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function,
                                                     int block_threads, size_t dynamic_shared_bytes)
{
    BEGIN(cuOccupancyMaxActiveBlocksPerMultiprocessor, NEED_CONTEXT);
    if (!module_has_function(function))
        return CUDA_ERROR_INVALID_HANDLE;
    return module_blocks_per_sm(function, block_threads, dynamic_shared_bytes, blocks);
}

/* --- Launches --- */

struct extent {
    unsigned x, y, z;
};

static bool extent_fits(struct extent extent, int64_t x, int64_t y, int64_t z)
{
    return extent.x >= 1 && extent.x <= x && extent.y >= 1 && extent.y <= y && extent.z >= 1 &&
           extent.z <= z;
}

static uint64_t extent_count(struct extent extent)
{
    return (uint64_t)extent.x * extent.y * extent.z;
}

/* The limits that the driver checks before it takes a launch. */
static CUresult check_launch(CUfunction function, struct extent grid, struct extent block,
                             unsigned shared_bytes)
{
    if (!module_has_function(function))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!extent_fits(grid, INT32_MAX, 65535, 65535) || !extent_fits(block, 1024, 1024, 64))
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t threads = extent_count(block);
    uint64_t bound = (uint64_t)function->max_threads_per_block;
    if (threads > (uint64_t)device_attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) ||
        (bound > 0 && threads > bound))
        return CUDA_ERROR_INVALID_VALUE;
    if (threads > (uint64_t)module_function_threads(function))
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    if (shared_bytes > (unsigned)function->max_dynamic_shared_bytes)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* What a kernel of a graph does not wait for, of the time that one from the host takes: an empty
 * kernel takes 2.5 us then, and 1.3 in a graph. */
#define GRAPH_SAVES_NS 1200

static void run_launch(CUfunction function, const struct launch *work, void **parameters,
                       double saved_ns)
{
    const struct kernel *kernel = function->kernel;
    double own_ns = kernel_own_ns(kernel, parameters);
    double ns = own_ns >= 0 ? own_ns : clock_kernel_ns(&control()->time, work);
    clock_advance(fmax(ns - saved_ns, fmin(ns, SHORTEST_NS)));
    if (stream_stopped())
        return;
    CUresult fault = CUDA_SUCCESS;
    module_swap_globals(function->module, true);
    enum kernel_end end = kernel_run(kernel, parameters, &fault);
    module_swap_globals(function->module, false);
    switch (end) {
    case KERNEL_DONE:
        break;
    case KERNEL_FAULTED:
        current->pending = fault;
        break;
    case KERNEL_NEVER:
        current->hanging = true;
        break;
    }
}

static CUresult capture_launch(struct CUgraph_st *graph, CUfunction function,
                               const struct launch *work, void **parameters)
{
    struct graph_node *nodes = realloc(graph->nodes, (graph->count + 1) * sizeof *nodes);
    if (nodes == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    graph->nodes = nodes;
    void **copy = kernel_copy_parameters(function->kernel, parameters);
    if (copy == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    nodes[graph->count++] = (struct graph_node){function, *work, copy};
    return CUDA_SUCCESS;
}

/* What a launch asks for beyond its extents. */
struct wishes {
    struct extent cluster;
    bool cooperative;
};

#define CARVEOUT ((CUlaunchAttributeID)14) /* in the headers of newer toolkits only */

static CUresult read_wishes(CUfunction function, const CUlaunchConfig *config,
                            struct wishes *wishes)
{
    const uint32_t *cluster = function->cluster;
    *wishes = (struct wishes){.cluster = {1, 1, 1}};
    if (cluster[0] > 0)
        wishes->cluster = (struct extent){cluster[0], cluster[1], cluster[2]};
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttributeValue *value = &config->attrs[i].value;
        unsigned percent;
        switch ((int)config->attrs[i].id) {
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
            wishes->cooperative = value->cooperative != 0;
            break;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
            wishes->cluster =
                (struct extent){value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
            break;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
            control_note("scheduling %d", (int)value->clusterSchedulingPolicyPreference);
            break;
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
            control_note("programmatic %d", value->programmaticStreamSerializationAllowed);
            break;
        case CARVEOUT:
            memcpy(&percent, value->pad, sizeof percent);
            control_note("carveout %u", percent);
            break;
        default:
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return CUDA_SUCCESS;
}

/* Clusters need compute capability 9.0, whole clusters, and leave to have more than 8 blocks. */
static CUresult check_cluster(CUfunction function, struct extent grid, struct extent cluster)
{
    uint64_t blocks = extent_count(cluster);
    if (blocks == 1)
        return CUDA_SUCCESS;
    control_note("cluster %u %u %u", cluster.x, cluster.y, cluster.z);
    if (blocks == 0 || blocks > 16 || control()->compute_capability < 90 || grid.x % cluster.x ||
        grid.y % cluster.y || grid.z % cluster.z || (blocks > 8 && !function->large_clusters))
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    return CUDA_SUCCESS;
}

/* A cluster runs on the SMs of one group of 16; the last group has what is left. */
static CUresult active_clusters(CUfunction function, const CUlaunchConfig *config,
                                uint64_t cluster_blocks, int *clusters)
{
    int blocks = 0;
    uint64_t threads = (uint64_t)config->blockDimX * config->blockDimY * config->blockDimZ;
    CUresult counted =
        module_blocks_per_sm(function, (int)threads, config->sharedMemBytes, &blocks);
    *clusters = 0;
    for (int left = control()->sm_count; counted == CUDA_SUCCESS && left > 0; left -= 16)
        *clusters += (left < 16 ? left : 16) * blocks / (int)cluster_blocks;
    return counted;
}

CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction function,
                                      const CUlaunchConfig *config)
{
    BEGIN(cuOccupancyMaxActiveClusters, NEED_CONTEXT);
    struct wishes wishes = {0};
    struct extent grid = {config->gridDimX, config->gridDimY, config->gridDimZ};
    if (!module_has_function(function))
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult checked = read_wishes(function, config, &wishes);
    if (checked == CUDA_SUCCESS)
        checked = check_cluster(function, grid, wishes.cluster);
    return checked != CUDA_SUCCESS
               ? checked
               : active_clusters(function, config, extent_count(wishes.cluster), clusters);
}

static CUresult launch(CUfunction function, const CUlaunchConfig *config, void **parameters,
                       void **extra)
{
    struct wishes wishes = {0};
    struct extent grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                  block = {config->blockDimX, config->blockDimY, config->blockDimZ};
    CUresult checked = check_launch(function, grid, block, config->sharedMemBytes);
    if (checked == CUDA_SUCCESS)
        checked = read_wishes(function, config, &wishes);
    if (checked == CUDA_SUCCESS)
        checked = check_cluster(function, grid, wishes.cluster);
    int clusters = 0;
    uint64_t cluster_blocks = extent_count(wishes.cluster);
    if (checked == CUDA_SUCCESS && wishes.cooperative)
        checked = active_clusters(function, config, cluster_blocks, &clusters);
    if (checked != CUDA_SUCCESS)
        return checked;
    if (wishes.cooperative && extent_count(grid) / cluster_blocks > (uint64_t)clusters)
        return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    const struct kernel *kernel = function->kernel;
    if (kernel == NULL || extra != NULL)
        return CUDA_ERROR_NOT_SUPPORTED;
    CUstream stream = config->hStream;
    if (!enter_stream(stream))
        return CUDA_ERROR_INVALID_HANDLE;
    const struct launch work = {.entry = function->name,
                                .blocks = extent_count(grid),
                                .block_threads = (unsigned)extent_count(block),
                                .elements = kernel_elements(kernel, parameters),
                                .load = module_number(function->module),
                                .place = memory_number(kernel_address(kernel, parameters))};
    if (stream != NULL && stream->capture != NULL) {
        if (!function->loaded && is_captured(stream))
            return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        return capture_launch(stream->capture, function, &work, parameters);
    }
    function->loaded = true;
    if (strcmp(function->name, control()->note) == 0)
        control_note("launch %s", function->name);
    run_launch(function, &work, parameters, 0);
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
                          void **extra)
{
    BEGIN(cuLaunchKernelEx, NEED_CONTEXT);
    return launch(function, config, parameters, extra);
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void **parameters, void **extra)
{
    BEGIN(cuLaunchKernel, NEED_CONTEXT);
    const CUlaunchConfig config = {grid_x,  grid_y,       grid_z, block_x, block_y,
                                   block_z, shared_bytes, stream, NULL,    0};
    return launch(function, &config, parameters, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared_bytes, CUstream stream,
                                   void **parameters)
{
    BEGIN(cuLaunchCooperativeKernel, NEED_CONTEXT);
    CUlaunchAttribute cooperative = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    const CUlaunchConfig config = {grid_x,  grid_y,       grid_z, block_x,      block_y,
                                   block_z, shared_bytes, stream, &cooperative, 1};
    return launch(function, &config, parameters, NULL);
}

/* --- Streams --- */

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    BEGIN(cuStreamCreate, NEED_CONTEXT);
    if (flags > CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    *stream = new_handle(&streams, sizeof **stream);
    return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    BEGIN(cuStreamSynchronize, NEED_CONTEXT);
    if (is_stream(stream) && is_captured(stream))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return enter_stream(stream) ? wait_for_all() : CUDA_ERROR_INVALID_HANDLE;
}

/* --- Graphs: of one stream's launches --- */

static CUresult free_graph(struct CUgraph_st *graph)
{
    struct handle **link = find_handle(&graphs, graph);
    if (*link == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *link = graph->handle.next;
    for (size_t i = 0; i < graph->count; i++)
        free(graph->nodes[i].parameters);
    free(graph->nodes);
    free(graph);
    return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    BEGIN(cuStreamBeginCapture, NEED_CONTEXT);
    (void)mode; /* there is one thread */
    if (!enter_stream(stream))
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream == NULL)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture != NULL)
        return CUDA_ERROR_ILLEGAL_STATE;
    stream->spoiled = false;
    stream->capture = new_handle(&graphs, sizeof(struct CUgraph_st));
    return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    BEGIN(cuStreamEndCapture, NEED_CONTEXT);
    *graph = NULL;
    if (!enter_stream(stream) || stream == NULL || stream->capture == NULL)
        return CUDA_ERROR_ILLEGAL_STATE;
    struct CUgraph_st *captured = stream->capture;
    stream->capture = NULL;
    if (stream->spoiled) {
        (void)free_graph(captured);
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    *graph = captured;
    return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *made, CUgraph graph, unsigned long long flags)
{
    BEGIN(cuGraphInstantiateWithFlags, NEED_CONTEXT);
    if (!has_handle(graphs, graph) || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    struct CUgraph_st *copy = new_handle(&graphs, sizeof(struct CUgraph_st));
    for (size_t i = 0; i < graph->count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        CUresult result = capture_launch(copy, node->function, &node->work, node->parameters);
        if (result != CUDA_SUCCESS) {
            (void)free_graph(copy);
            return result;
        }
    }
    *made = (CUgraphExec)copy;
    return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec made, CUstream stream)
{
    BEGIN(cuGraphLaunch, NEED_CONTEXT);
    const struct CUgraph_st *graph = (const struct CUgraph_st *)made;
    if (!has_handle(graphs, graph) || !enter_stream(stream))
        return CUDA_ERROR_INVALID_HANDLE;
    if (is_captured(stream))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    for (size_t i = 0; i < graph->count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        if (!module_has_function(node->function))
            return CUDA_ERROR_INVALID_HANDLE; /* its module was unloaded */
        run_launch(node->function, &node->work, node->parameters, GRAPH_SAVES_NS);
    }
    return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec made)
{
    BEGIN(cuGraphExecDestroy, NEED_CONTEXT);
    return free_graph((struct CUgraph_st *)made);
}

CUresult cuGraphDestroy(CUgraph graph)
{
    BEGIN(cuGraphDestroy, NEED_CONTEXT);
    return free_graph(graph);
}

/* --- Events --- */

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    BEGIN(cuEventCreate, NEED_CONTEXT);
    if ((flags & ~(unsigned)(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    *event = new_handle(&events, sizeof **event);
    (*event)->context = current;
    (*event)->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    BEGIN(cuEventRecord, NEED_CONTEXT);
    if (!has_handle(events, event) || !enter_stream(stream))
        return CUDA_ERROR_INVALID_HANDLE;
    event->recorded = true;
    event->done = false;
    event->time_ns = floor(clock_now_ns() / EVENT_TICK_NS) * EVENT_TICK_NS;
    return CUDA_SUCCESS;
}

/*
 * Virtual time says nothing about whether the host was quick enough, so the answer is: queued work
 * is pending until the host waits for it, however long that takes. A host that asks again about the
 * same event with no other call in between is waiting, and is told that it is done. `unhidden`
 * queries at first are answered as if the host had been too slow.
 */
CUresult cuEventQuery(CUevent event)
{
    BEGIN(cuEventQuery, NEED_CONTEXT);
    if (!has_handle(events, event))
        return CUDA_ERROR_INVALID_HANDLE;
    if (event->recorded && !event->done && !current->hanging) {
        bool waiting = last_polled == event;
        if (queries++ < control()->unhidden || waiting) {
            if (current->pending != CUDA_SUCCESS)
                return current->broken = current->pending;
            event->done = true;
        }
    }
    last_polled = event;
    return event->recorded && !event->done ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    BEGIN(cuEventElapsedTime, NEED_CONTEXT);
    if (!has_handle(events, start) || !has_handle(events, end) || !start->recorded ||
        !end->recorded || !start->timed || !end->timed)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!start->done || !end->done)
        return CUDA_ERROR_NOT_READY;
    *milliseconds = (float)((end->time_ns - start->time_ns) / NS_PER_MS);
    return CUDA_SUCCESS;
}

static void free_handles(struct handle **list)
{
    while (*list != NULL) {
        struct handle *next = (*list)->next;
        free(*list);
        *list = next;
    }
}

__attribute__((destructor)) static void clear_all(void)
{
    free_handles(&streams);
    while (graphs != NULL)
        (void)free_graph((struct CUgraph_st *)graphs);
    free_handles(&events);
    free_handles(&textures);
}
