/* The GPUs of a machine, asked of a device worker that ends with its answer. */
#ifndef AUTOTUNE_GPU_LIST_H
#define AUTOTUNE_GPU_LIST_H

#include "base/error.h"
#include "base/worker.h"
#include "record/gpu.h"

#include <stdbool.h>
#include <stddef.h>

/* `*gpus` is a new array. Returns 0, or ERROR_DEVICE (no driver, or it does not answer), ERROR_WORKER
 * or ERROR_INTERRUPTED. */
int gpu_list(struct gpu **gpus, size_t *count, struct error *error);

/* The same in two steps, so that several machines are asked at once; then end the worker. If it has died
 * by itself, `*died` is set. */
int gpu_list_begin(struct worker *worker, struct node *node, struct error *error);
int gpu_list_take(struct worker *worker, struct gpu **gpus, size_t *count, bool *died,
                  struct error *error);

#endif
