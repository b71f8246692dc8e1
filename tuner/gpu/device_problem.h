/*
 * A problem on the GPU: the store of its inputs, outputs and expected results, which its variants
 * share, and the memory for what they do not share.
 */
#ifndef AUTOTUNE_DEVICE_PROBLEM_H
#define AUTOTUNE_DEVICE_PROBLEM_H

#include "compile/compilation.h"
#include "gpu/data_store.h"
#include "gpu/device_buffer.h"
#include "gpu/device_code.h"
#include "gpu/driver.h"
#include "template/footprint.h"
#include "template/template.h"

struct device_problem {
    struct device_context *device;
    struct template template;
    struct bindings fixed; /* problem values and device attributes */
    struct helper_code helpers;
    struct data_store store;
    struct device_data data;   /* of no variant: what depends on no parameter, where it was made */
    CUdeviceptr slots;         /* where the checking kernels write their findings */
    uint64_t *slot_values;     /* the host's copy of the slots, in pinned memory */
    struct device_arena arena; /* holds the variants' scratch buffers */
    size_t loaded;             /* number of variants that may use the arena */
    CUdeviceptr flush;         /* reading this evicts everything else from the L2 */
    uint64_t flush_bytes;
    bool cold;
    struct footprint footprint;
};

struct problem_request {
    struct template *template; /* taken over */
    const struct bindings *problem;
    struct compilation *helpers; /* the source compiled with its defaults, taken over; NULL: none */
    bool cold;
};

/*
 * Makes what depends on no parameter: fills buffers, runs references. Returns 0, ERROR_CONFIG if the
 * template or a file of its data is wrong, ERROR_MEMORY if the problem does not fit in GPU
 * memory, or ERROR_DEVICE if a reference fails. Frees everything on failure.
 */
int device_problem_open(struct device_problem *problem, struct device_context *device,
                        const struct problem_request *request, struct error *error);
void device_problem_close(struct device_problem *problem);

#endif
