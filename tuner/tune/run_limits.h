/*
 * How much a run may spend, and what of it each job gets: the budget of a run, or of a kernel, is
 * shared among the problems that are still to be tuned.
 */
#ifndef AUTOTUNE_RUN_LIMITS_H
#define AUTOTUNE_RUN_LIMITS_H

#include "template/sweep.h"

#include <stddef.h>
#include <stdint.h>

struct run_limits {
    struct sweep_limits asked; /* on the command line: they replace those of the sweep */
    const struct sweep *sweep;
    int64_t begin_ns;                  /* of the run, on clock_ns() */
    const struct sweep_kernel *kernel; /* being tuned, since … */
    int64_t kernel_begin_ns;
};

/* What limits each of a kernel's problems; zeros: nothing does, and all variants are tried. */
struct sweep_limits run_limits_of(const struct run_limits *limits,
                                  const struct sweep_kernel *kernel);

/*
 * When the tuning of a kernel's problem that begins at `now_ns` has to end; 0: any time.
 * `run_left` is the number of problems to be tuned from now on, this one included, and
 * `kernel_left` that of this kernel's. Jobs are asked about in the order of their kernels.
 */
int64_t run_limits_end_ns(struct run_limits *limits, const struct sweep_kernel *kernel,
                          int64_t now_ns, size_t run_left, size_t kernel_left);

#endif
