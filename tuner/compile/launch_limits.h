/*
 * Compares the launches of a plan with what the GPU and the compiled kernels allow, so that a launch
 * which the driver would refuse is reported at the template's line, with the numbers.
 */
#ifndef AUTOTUNE_LAUNCH_LIMITS_H
#define AUTOTUNE_LAUNCH_LIMITS_H

#include "base/error.h"
#include "record/gpu.h"
#include "template/launch_plan.h"
#include "template/template.h"

/*
 * Returns 0; ERROR_CONFIG for the first launch with a block, a grid or shared memory beyond the
 * limits: threads per block of the GPU and of the kernel's launch bounds, the extents of blocks and
 * grids, registers and shared memory per block; or the lookup's error.
 */
int launch_limits_check(const struct launch_plan *launch_plan, const struct template *template,
                        const struct gpu *gpu, const struct kernel_lookup *lookup,
                        struct error *error);

#endif
