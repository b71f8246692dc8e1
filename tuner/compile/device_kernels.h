/*
 * The source of the tuner's own kernels (gpu/device_kernels.cu), embedded by the build. A compile
 * worker compiles it like any template.
 */
#ifndef AUTOTUNE_DEVICE_KERNELS_H
#define AUTOTUNE_DEVICE_KERNELS_H

extern const char device_kernels_source[];

#endif
