/*
 * A loaded cubin as a schedule asks about it: its functions, the driver's figures for them, and
 * their launches. Shared by the device worker and libtuned_kernel.
 */
#ifndef AUTOTUNE_MODULE_H
#define AUTOTUNE_MODULE_H

#include "gpu/device_context.h"
#include "template/launch_plan.h"

struct module {
    struct device_context *device;
    CUmodule handle;
};

/* What launch_plan_make() asks; `module` must outlive it. An entry that the module lacks is
 * ERROR_DEVICE with CUDA_ERROR_NOT_FOUND in device->last. */
struct kernel_lookup module_lookup(struct module *module);

int module_function(const struct module *module, const char *entry, CUfunction *function,
                    struct error *error);

/* Asks for `bytes` of dynamic shared memory: needed where static and dynamic together are more than
 * 48 KB. */
int module_allow_shared(struct device_context *device, CUfunction function, int64_t bytes,
                        struct error *error);

/* Queues one launch, with `arguments` as cuLaunchKernel wants them. Changes nothing, so that threads
 * may launch at the same time; module_launch_call() is the name of the call for messages. */
CUresult module_launch(const struct driver *driver, const struct step *step, CUfunction function,
                       CUstream stream, void **arguments);
const char *module_launch_call(const struct step *step);

#endif
