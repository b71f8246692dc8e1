/*
 * Is a variant's result right? Outputs are poisoned and inputs restored, the variant runs once, and
 * the GPU compares what came out with what is expected, where it lies; then it checks that inputs
 * are as they were and that nothing was written into the guard regions.
 */
#ifndef AUTOTUNE_VERIFY_H
#define AUTOTUNE_VERIFY_H

#include "base/error.h"
#include "gpu/device_problem.h"

enum { VERIFY_REASON_BYTES = 256 };

enum finding {
    FINDING_RIGHT,
    FINDING_WRONG,
    FINDING_DAMAGE /* wrong, and it wrote where it must not: the problem must be opened again */
};

/* Prepares verification of this problem's variants: room for findings, checksums of inputs. */
int verify_prepare(struct device_problem *problem, struct error *error);

/*
 * Runs the variant and checks. Unless `*finding` is FINDING_RIGHT, `reason` says what was not as
 * expected. A negative code is the driver's: the launch was refused, or the kernel faulted.
 */
int verify_run(struct device_problem *problem, struct device_variant *variant,
               enum finding *finding, char reason[VERIFY_REASON_BYTES], struct error *error);

/*
 * Checks what the last run left, timed or not, without another run: what the runs before it left
 * behind (a counter, a flag), and a race that strikes now and then, show here. Inputs are not
 * checked again.
 */
int verify_again(struct device_problem *problem, struct device_variant *variant,
                 enum finding *finding, char reason[VERIFY_REASON_BYTES], struct error *error);

#endif
