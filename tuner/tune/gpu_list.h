/* The GPUs of this machine, asked of a device worker that ends with its answer. */
#ifndef AUTOTUNE_GPU_LIST_H
#define AUTOTUNE_GPU_LIST_H

#include "base/error.h"
#include "record/gpu.h"

#include <stddef.h>

/* `*gpus` is a new array. Returns 0, or ERROR_DEVICE (no driver, or it does not answer) or
 * ERROR_WORKER. */
int gpu_list(struct gpu **gpus, size_t *count, struct error *error);

#endif
