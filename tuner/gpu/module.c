#include "gpu/module.h"

#include <inttypes.h>
#include <string.h>

int module_function(const struct module *module, const char *entry, CUfunction *function,
                    struct error *error)
{
    struct device_context *device = module->device;
    CUresult result = device->driver.cuModuleGetFunction(
        function, module->handle, compilation_symbol(module->compilation, entry));
    if (result == CUDA_SUCCESS)
        return 0;
    device->last = result;
    return error_set(error, ERROR_DEVICE, "cannot load entry '%s': %s; is it extern \"C\"?", entry,
                     driver_error_name(&device->driver, result));
}

int module_symbol(const struct module *module, const struct buffer *buffer, uint64_t bytes,
                  CUdeviceptr *address, struct error *error)
{
    struct device_context *device = module->device;
    size_t size = 0;
    CUresult result =
        device->driver.cuModuleGetGlobal(address, &size, module->handle, buffer->symbol);
    device->last = result;
    if (result == CUDA_ERROR_NOT_FOUND)
        return error_set(error, ERROR_CONFIG,
                         "the source has no variable '%s'; is it at namespace scope, in no named "
                         "namespace unless extern \"C\", and not static?",
                         buffer->symbol);
    int status = device_check(device, result, "cuModuleGetGlobal", error);
    if (status == 0 && size != bytes)
        status = error_set(error, ERROR_CONFIG,
                           "its length takes %" PRIu64 " bytes, but the variable '%s' has %zu",
                           bytes, buffer->symbol, size);
    return status;
}

int module_allow_shared(struct device_context *device, CUfunction function, int64_t bytes,
                        struct error *error)
{
    if (bytes == 0)
        return 0;
    return CUDA(device, cuFuncSetAttribute, function,
                CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes);
}

/* Every GPU with clusters has those of 8 blocks, some have larger ones. */
enum { PORTABLE_CLUSTER = 8 };

int module_prepare(struct device_context *device, CUfunction function, const struct step *step,
                   struct error *error)
{
    int status = module_allow_shared(device, function, step->dynamic_shared_bytes, error);
    if (status == 0 && launch_attributes_cluster_blocks(&step->attributes) > PORTABLE_CLUSTER)
        status = CUDA(device, cuFuncSetAttribute, function,
                      CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    return status;
}

static int lookup_info(void *user, const char *entry, struct kernel_info *info, struct error *error)
{
    const struct module *module = user;
    CUfunction function;
    int shared = 0;
    int local = 0;
    int cluster[3] = {0}; /* __cluster_dims__ */
    *info = (struct kernel_info){0};
    const struct {
        CUfunction_attribute attribute;
        int *value;
    } wanted[] = {{CU_FUNC_ATTRIBUTE_NUM_REGS, &info->registers},
                  {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared},
                  {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local},
                  {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &info->max_threads_per_block},
                  {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &cluster[0]},
                  {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &cluster[1]},
                  {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &cluster[2]}};
    size_t count = sizeof wanted / sizeof *wanted;
    if (module->device->gpu.compute_capability < 90)
        count -= 3; /* older drivers do not know the last ones */
    int status = module_function(module, entry, &function, error);
    for (size_t i = 0; i < count && status == 0; i++)
        status = CUDA(module->device, cuFuncGetAttribute, wanted[i].value, wanted[i].attribute,
                      function);
    info->static_shared_bytes = shared;
    info->stack_bytes = local;
    info->cluster_blocks = cluster[0] * cluster[1] * cluster[2];
    return status;
}

static int lookup_blocks_per_sm(void *user, const char *entry, int block_threads,
                                int64_t dynamic_shared_bytes, int *blocks, struct error *error)
{
    const struct module *module = user;
    struct device_context *device = module->device;
    const int64_t *limits = device->gpu.attributes;
    CUfunction function;
    *blocks = 0;
    if (block_threads < 1 || block_threads > limits[GPU_max_threads_per_block] ||
        dynamic_shared_bytes > limits[GPU_max_shared_bytes_per_block_optin])
        return 0;
    int status = module_function(module, entry, &function, error);
    if (status == 0)
        status = module_allow_shared(device, function, dynamic_shared_bytes, error);
    if (status == 0)
        status = CUDA(device, cuOccupancyMaxActiveBlocksPerMultiprocessor, blocks, function,
                      block_threads, (size_t)dynamic_shared_bytes);
    return status;
}

/* --- launches with attributes --- */

/* What toolkits before 12.5 call by no name. */
#define SHARED_CARVEOUT ((CUlaunchAttributeID)14)

enum { ATTRIBUTES = 5 };

/* `attributes` has the places that the configuration points to. */
static CUlaunchConfig make_config(const struct step *step, CUstream stream,
                                  CUlaunchAttribute attributes[ATTRIBUTES])
{
    const struct launch_attributes *wanted = &step->attributes;
    unsigned count = 0;
    memset(attributes, 0, ATTRIBUTES * sizeof *attributes);
    if (step->cooperative) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attributes[count++].value.cooperative = 1;
    }
    if (launch_attributes_cluster_blocks(wanted) > 1) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attributes[count].value.clusterDim.x = wanted->cluster[0];
        attributes[count].value.clusterDim.y = wanted->cluster[1];
        attributes[count++].value.clusterDim.z = wanted->cluster[2];
    }
    if (wanted->cluster_scheduling != CLUSTER_SCHEDULING_DEFAULT) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
        attributes[count++].value.clusterSchedulingPolicyPreference =
            (CUclusterSchedulingPolicy)wanted->cluster_scheduling;
    }
    if (wanted->programmatic) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        attributes[count++].value.programmaticStreamSerializationAllowed = 1;
    }
    if (wanted->shared_carveout >= 0) {
        unsigned percent = (unsigned)wanted->shared_carveout;
        attributes[count].id = SHARED_CARVEOUT;
        memcpy(attributes[count++].value.pad, &percent, sizeof percent);
    }
    return (CUlaunchConfig){.gridDimX = step->grid[0],
                            .gridDimY = step->grid[1],
                            .gridDimZ = step->grid[2],
                            .blockDimX = step->block[0],
                            .blockDimY = step->block[1],
                            .blockDimZ = step->block[2],
                            .sharedMemBytes = step->dynamic_shared_bytes,
                            .hStream = stream,
                            .attrs = attributes,
                            .numAttrs = count};
}

static int lookup_active_clusters(void *user, const struct step *step, int *clusters,
                                  struct error *error)
{
    const struct module *module = user;
    CUlaunchAttribute attributes[ATTRIBUTES];
    CUlaunchConfig config = make_config(step, NULL, attributes);
    CUfunction function;
    *clusters = 0;
    int status = module_function(module, step->entry, &function, error);
    if (status == 0)
        status = module_prepare(module->device, function, step, error);
    if (status == 0)
        status = CUDA(module->device, cuOccupancyMaxActiveClusters, clusters, function, &config);
    return status;
}

struct kernel_lookup module_lookup(struct module *module)
{
    return (struct kernel_lookup){module, lookup_info, lookup_blocks_per_sm,
                                  lookup_active_clusters};
}

CUresult module_launch(const struct driver *driver, const struct step *step, CUfunction function,
                       CUstream stream, void **arguments)
{
    if (launch_attributes_any(&step->attributes)) {
        CUlaunchAttribute attributes[ATTRIBUTES];
        CUlaunchConfig config = make_config(step, stream, attributes);
        return driver->cuLaunchKernelEx(&config, function, arguments, NULL);
    }
    if (step->cooperative)
        return driver->cuLaunchCooperativeKernel(
            function, step->grid[0], step->grid[1], step->grid[2], step->block[0], step->block[1],
            step->block[2], step->dynamic_shared_bytes, stream, arguments);
    return driver->cuLaunchKernel(function, step->grid[0], step->grid[1], step->grid[2],
                                  step->block[0], step->block[1], step->block[2],
                                  step->dynamic_shared_bytes, stream, arguments, NULL);
}

int module_queue(struct device_context *device, const struct step *step, CUfunction function,
                 void **arguments, struct error *error)
{
    const char *call = launch_attributes_any(&step->attributes) ? "cuLaunchKernelEx"
                       : step->cooperative                      ? "cuLaunchCooperativeKernel"
                                                                : "cuLaunchKernel";
    return device_check(device,
                        module_launch(&device->driver, step, function, device->stream, arguments),
                        call, error);
}

/* --- tensor maps --- */

/* Copies do not tell integers of one size apart. */
static CUtensorMapDataType type_of(enum element_type type)
{
    switch (type) {
    case ELEMENT_HALF:
        return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case ELEMENT_BFLOAT16:
        return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case ELEMENT_FLOAT:
        return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case ELEMENT_DOUBLE:
        return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case ELEMENT_INT32:
        return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case ELEMENT_INT64:
        return CU_TENSOR_MAP_DATA_TYPE_INT64;
    case ELEMENT_UINT32:
        return CU_TENSOR_MAP_DATA_TYPE_UINT32;
    case ELEMENT_UINT64:
        return CU_TENSOR_MAP_DATA_TYPE_UINT64;
    default:
        return element_bytes(type) == 1 ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                        : CU_TENSOR_MAP_DATA_TYPE_UINT16;
    }
}

/* The index of `bytes` in the driver's order: 0, `first`, and its doubles. */
static int order_of(uint32_t bytes, uint32_t first)
{
    int order = 0;
    for (; bytes >= first; bytes /= 2)
        order++;
    return order;
}

int module_encode_tensor_map(struct device_context *device, const struct tensor_map *map,
                             CUdeviceptr address, uint64_t bytes, void *argument,
                             struct error *error)
{
    CUtensorMap encoded; /* aligned, as the driver wants it */
    if (map->interleave == 0 && tensor_map_bytes(map) > bytes)
        return error_set(error, ERROR_CONFIG,
                         "the tensor map reaches %" PRIu64 " bytes, but its buffer has %" PRIu64,
                         tensor_map_bytes(map), bytes);
    int status =
        CUDA(device, cuTensorMapEncodeTiled, &encoded, type_of(map->type), (cuuint32_t)map->rank,
             (void *)(uintptr_t)address, map->dimensions, &map->strides[1], map->box, map->steps,
             (CUtensorMapInterleave)order_of(map->interleave, 16),
             (CUtensorMapSwizzle)order_of(map->swizzle, 32),
             (CUtensorMapL2promotion)order_of(map->l2, 64),
             map->fill_nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                           : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status == 0)
        memcpy(argument, &encoded, sizeof encoded);
    return status;
}
