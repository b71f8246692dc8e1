/*
 * A variant's code on the GPU, and further copies of it. Where the driver puts a cubin decides which
 * lines of the instruction caches its loops share: on an H200, loads of one and the same cubin differ
 * by 0.35 % (standard deviation), for as long as they stay loaded, so that two variants half a percent
 * apart change places from one process to the next. Finals therefore go round several copies of each
 * variant, and what wins is the code, not its address.
 */
#ifndef AUTOTUNE_DEVICE_CODE_H
#define AUTOTUNE_DEVICE_CODE_H

#include "base/error.h"
#include "gpu/device_context.h"
#include "template/launch_plan.h"

#include <stddef.h>

enum { CODE_COPIES = 16 };

struct device_code {
    CUmodule module;
    CUfunction *functions; /* of each step */
    size_t count;
};

/* Loads the cubin. Returns 0 or ERROR_DEVICE; unload it in either case. */
int device_code_load(struct device_code *code, struct device_context *device, const void *cubin,
                     struct error *error);

/* Looks up the function of each step, and lets it have the shared memory that the step asks for. */
int device_code_resolve(struct device_code *code, struct device_context *device,
                        const struct launch_plan *launch_plan, struct error *error);

/* Clears it; zeroed code is allowed. */
void device_code_unload(struct device_code *code, struct device_context *device);

#endif
