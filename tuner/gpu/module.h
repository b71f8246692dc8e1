/*
 * A loaded cubin: looks up its functions and variables, answers a launch plan's questions about them, and
 * launches them. Shared by the device worker and libtuned_kernel.
 */
#ifndef AUTOTUNE_MODULE_H
#define AUTOTUNE_MODULE_H

#include "base/error.h"
#include "compile/compilation.h"
#include "gpu/driver.h"
#include "template/launch_plan.h"

struct module {
    struct device_context *device;
    CUmodule handle;
    const struct compilation
        *compilation; /* knows the entries' symbols; NULL: they are the entries */
};

/* The lookup for launch_plan_make(); `module` must outlive it. If the module lacks an entry, the
 * lookup returns ERROR_DEVICE with CUDA_ERROR_NOT_FOUND in device->last. */
struct kernel_lookup module_lookup(struct module *module);

int module_function(const struct module *module, const char *entry, CUfunction *function,
                    struct error *error);

/*
 * The address of the variable that `buffer` is, which must have `bytes`. Returns ERROR_CONFIG if the
 * code has no such variable, with CUDA_ERROR_NOT_FOUND in device->last, or if it has another size.
 */
int module_symbol(const struct module *module, const struct buffer *buffer, uint64_t bytes,
                  CUdeviceptr *address, struct error *error);

/* Allows the function `bytes` of dynamic shared memory. A launch needs this if static and dynamic
 * shared memory together exceed 48 KB. */
int module_allow_shared(struct device_context *device, CUfunction function, int64_t bytes,
                        struct error *error);

/* Allows the function everything that the step's launch needs: shared memory, large clusters. */
int module_prepare(struct device_context *device, CUfunction function, const struct step *step,
                   struct error *error);

/* Queues one launch; `arguments` are those of cuLaunchKernel. Thread-safe: it changes no state of
 * ours. */
CUresult module_launch(const struct driver *driver, const struct step *step, CUfunction function,
                       CUstream stream, void **arguments);

/* The same on the device's stream. Returns 0, or ERROR_DEVICE with the driver's call. */
int module_queue(struct device_context *device, const struct step *step, CUfunction function,
                 void **arguments, struct error *error);

/*
 * Encodes `map` over the buffer of `bytes` at `address` into `argument`, which has the size of a
 * CUtensorMap and needs no alignment. Returns 0, ERROR_CONFIG if the buffer is too short, or
 * ERROR_DEVICE if the driver refuses, for example an address that is not a multiple of 16.
 */
int module_encode_tensor_map(struct device_context *device, const struct tensor_map *map,
                             CUdeviceptr address, uint64_t bytes, void *argument,
                             struct error *error);

#endif
