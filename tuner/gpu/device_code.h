/*
 * One loaded copy of a variant's code. The address at which the driver loads a cubin decides which
 * instruction-cache lines its loops share. On an H200, copies of the same cubin differ in speed by
 * 0.35 % (standard deviation) for as long as they stay loaded, so two variants half a percent apart
 * can swap ranks from one process to the next. Each round of the finals therefore runs in another
 * copy of each variant, so that the best code wins and not the luckiest address.
 */
#ifndef AUTOTUNE_DEVICE_CODE_H
#define AUTOTUNE_DEVICE_CODE_H

#include "base/error.h"
#include "compile/compilation.h"
#include "gpu/device_context.h"
#include "template/launch_plan.h"

#include <stddef.h>

enum { CODE_COPIES = 64 }; /* as race_rules.copies in tune/race.h */

struct device_code {
    CUmodule module;
    CUfunction *functions; /* one per step */
    size_t count;
    CUdeviceptr *symbols; /* one per buffer of the template: its variable's address, or 0 */
};

/* Loads the cubin. Returns 0 or ERROR_DEVICE; call device_code_unload() in either case. */
int device_code_load(struct device_code *code, struct device_context *device, const void *cubin,
                     struct error *error);

/* Looks up each step's function and allows it the shared memory and the cluster that the step asks
 * for. */
int device_code_resolve(struct device_code *code, struct device_context *device,
                        const struct compilation *compilation,
                        const struct launch_plan *launch_plan, struct error *error);

/* Unloads and zeroes `code`, which may be zero already. */
void device_code_unload(struct device_code *code, struct device_context *device);

#endif
