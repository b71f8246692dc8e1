/*
 * Checks that a variant's result is right: restores the inputs, poisons the outputs, runs the
 * variant once, and compares the outputs with the expected results on the GPU. Then checks that the
 * variant changed neither its inputs nor the guard regions around the buffers. The template's
 * verifiers run after that. The variant must have its data: device_variant_prepare().
 */
#ifndef AUTOTUNE_VERIFY_H
#define AUTOTUNE_VERIFY_H

#include "base/error.h"
#include "gpu/device_problem.h"
#include "gpu/device_variant.h"
#include "gpu/measure.h"

enum { VERIFY_REASON_BYTES = 256 };

enum finding {
    FINDING_RIGHT,
    FINDING_WRONG,
    FINDING_DAMAGE /* changed an input or wrote out of bounds: the problem must be opened again */
};

/* Prepares the verification of this problem's variants: allocates the slots for findings. */
int verify_prepare(struct device_problem *problem, struct error *error);

/*
 * Runs the variant, between the events of measure_queue_run() unless `measure` is NULL, and checks the
 * result. Calls `meanwhile` (NULL: there is none) before it waits. Unless `*finding` is FINDING_RIGHT,
 * `reason` says what is wrong. Returns ERROR_DEVICE if the driver refused the launch or the kernel
 * crashed.
 */
int verify_run(struct device_problem *problem, struct device_variant *variant,
               struct measure *measure, const struct meanwhile *meanwhile, enum finding *finding,
               char reason[VERIFY_REASON_BYTES], struct error *error);

/*
 * Checks the result of the last run, timed or not, without running again. This catches a variant
 * that fails only when run repeatedly, because it does not reset a counter or a flag. It also
 * catches some races. Does not check the inputs again.
 */
int verify_again(struct device_problem *problem, struct device_variant *variant,
                 enum finding *finding, char reason[VERIFY_REASON_BYTES], struct error *error);

#endif
