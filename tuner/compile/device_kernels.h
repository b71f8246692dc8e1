/*
 * The tuner's own kernels (device_kernels.cu), compiled by a compile worker like any template. The
 * text is embedded by the build.
 */
#ifndef AUTOTUNE_DEVICE_KERNELS_H
#define AUTOTUNE_DEVICE_KERNELS_H

extern const char device_kernels_source[];

#endif
