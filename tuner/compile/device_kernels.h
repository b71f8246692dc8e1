/* The source of the tuner's own kernels (gpu/device_kernels.cu), embedded by the build. A compile worker
 * compiles it like any template. */
#ifndef AUTOTUNE_DEVICE_KERNELS_H
#define AUTOTUNE_DEVICE_KERNELS_H

#include "template/source.h"

extern const char device_kernels_source[];

/* As a source; it lasts as long as the process. */
const struct source *device_kernels(void);

#endif
