#include "gpu/device_tensor_map.h"

#include <inttypes.h>
#include <string.h>

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

int device_tensor_map_encode(struct device_context *device, const struct tensor_map *map,
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
