/*
 * `check --compile`: compiles each kernel's default variant and its references, and checks what the
 * template says against them. Nothing is run.
 */
#ifndef AUTOTUNE_CHECK_COMPILE_H
#define AUTOTUNE_CHECK_COMPILE_H

#include "base/error.h"
#include "record/gpu.h"
#include "template/sweep.h"

/* The architecture's GPU; without `arch`, the first GPU of this machine, or if there is none an
 * sm_90. Returns 0 or ERROR_USAGE. */
int check_compile_gpu(const char *arch, struct gpu *gpu, struct error *error);

/*
 * Checks every kernel and problem of the sweep. Prints a line for each problem that is right, and on
 * stderr the compiler's messages and every fault, each once. Returns 0; ERROR_CONFIG if there are
 * faults; or an error of the compiler.
 */
int check_compile(const struct sweep *sweep, const struct gpu *gpu, struct error *error);

#endif
