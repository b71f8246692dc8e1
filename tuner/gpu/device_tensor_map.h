/* Tensor maps over a buffer, as arguments of a launch. Shared with libtuned_kernel. */
#ifndef AUTOTUNE_DEVICE_TENSOR_MAP_H
#define AUTOTUNE_DEVICE_TENSOR_MAP_H

#include "base/error.h"
#include "gpu/device_context.h"
#include "template/tensor_map.h"

/*
 * Encodes `map` over the buffer of `bytes` at `address` into `argument`, which has the size of a
 * CUtensorMap and needs no alignment. Returns 0, ERROR_CONFIG if the buffer is too short, or
 * ERROR_DEVICE if the driver refuses, for example an address that is not a multiple of 16.
 */
int device_tensor_map_encode(struct device_context *device, const struct tensor_map *map,
                             CUdeviceptr address, uint64_t bytes, void *argument,
                             struct error *error);

#endif
