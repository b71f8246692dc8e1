/* Scalars that change from launch to launch: sgemm with an alpha that is given at each. */
#ifndef PRODUCT_H
#define PRODUCT_H

#include "gpu.h"

#include <stdint.h>

struct product {
    struct tuned_kernels *kernels;
    struct gpu *gpu;
    uint64_t b; /* 64 by 64 numbers, and the same on the host */
    const float *numbers;
    struct tuned_error *error;
};

/* Multiplies if the bundle has sgemm. Returns 0, or 1 with a message where the product is wrong. */
int product_with_scalars(const struct product *product);

#endif
