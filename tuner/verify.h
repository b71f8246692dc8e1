/*
 * Is a variant's result right? Outputs are poisoned and inputs restored, the variant runs once, and
 * the GPU compares what came out with what is expected, where it lies; then it checks that inputs
 * are as they were and that nothing was written into the guard regions.
 */
#ifndef AUTOTUNE_VERIFY_H
#define AUTOTUNE_VERIFY_H

#include "device_problem.h"
#include "error.h"

#include <stdbool.h>

enum { VERIFY_REASON_BYTES = 256 };

/* Prepares verification of this problem's variants: room for findings, checksums of inputs. */
int verify_prepare(struct device_problem *problem, struct error *error);

/*
 * Runs the variant and checks. `*right` says whether everything was as expected; otherwise `reason`
 * says what was not, the first finding. A negative code is the driver's: the launch was refused, or
 * the kernel faulted.
 */
int verify_run(struct device_problem *problem, struct device_variant *variant, bool *right,
               char reason[VERIFY_REASON_BYTES], struct error *error);

#endif
