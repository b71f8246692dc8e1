/*
 * A cache of GPU descriptions. Asking the driver takes 0.1 s: a run with nothing to do saves that
 * time, and other runs use it to prepare. The key of an entry is the contents of the kernel driver's
 * files in /proc; without these files nothing is cached. Confirm an entry with the device worker
 * before measuring anything.
 */
#ifndef AUTOTUNE_GPU_CACHE_H
#define AUTOTUNE_GPU_CACHE_H

#include "record/gpu.h"

#include <stdbool.h>

/* The GPU that was device `ordinal` of this machine, and whether the driver showed others, too, and
 * found it by its UUID; false if it is not in the cache. */
bool gpu_cache_read(const char *folder, int ordinal, struct gpu *gpu, bool *several);

/* Stores an entry. A failure is ignored: the next run asks the driver again. */
void gpu_cache_write(const char *folder, int ordinal, const struct gpu *gpu, bool several);

/* Whether two descriptions are the same in everything. */
bool gpu_equal(const struct gpu *a, const struct gpu *b);

#endif
