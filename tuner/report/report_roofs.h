/*
 * The two roofs of a GPU: the most bytes that it can move, and the most operations that it can do,
 * in a given time. Taken from the record if kernels of the templates roof_copy and roof_fma were
 * tuned on the same GPU, as configs/roofs.ini does (their best, whatever the problem); otherwise
 * from the GPU's attributes:
 *   bandwidth   memory clock x 2 transfers x bus width
 *   operations  SMs x FP32 lanes of an SM x 2 (a fused multiply-add) x highest clock
 * The lanes are those of the CUDA C++ Programming Guide, "Arithmetic Instructions".
 */
#ifndef AUTOTUNE_REPORT_ROOFS_H
#define AUTOTUNE_REPORT_ROOFS_H

#include "record/study.h"

#include <stdbool.h>
#include <stddef.h>

struct roofs {
    double bytes_per_ns; /* GB/s; 0: not known */
    double operations_per_ns;
    bool bytes_measured; /* otherwise theoretical */
    bool operations_measured;
};

/* The roofs of the subject's GPU. `studies` are those of the record. */
void roofs_find(const struct study *subject, const struct study *studies, size_t count,
                struct roofs *roofs);

#endif
