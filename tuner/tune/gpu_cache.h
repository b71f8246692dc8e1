/*
 * What a GPU answered the last time. Asking the driver takes a tenth of a second, which a run that
 * has nothing to do need not spend, and other runs can spend while they prepare. An entry is found
 * by what the kernel driver's files in /proc say of the GPUs and of itself; without them nothing is
 * kept. What is read from here must be confirmed before anything is measured.
 */
#ifndef AUTOTUNE_GPU_CACHE_H
#define AUTOTUNE_GPU_CACHE_H

#include "record/gpu.h"

#include <stdbool.h>

/* The GPU that was device `ordinal` of this machine; false where that is not known. */
bool gpu_cache_read(const char *folder, int ordinal, struct gpu *gpu);

/* Keeps it. A failure only costs the time. */
void gpu_cache_write(const char *folder, int ordinal, const struct gpu *gpu);

/* Whether two descriptions are the same in everything. */
bool gpu_equal(const struct gpu *a, const struct gpu *b);

#endif
