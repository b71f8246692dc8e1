/* Inspects buffers on the GPU with the tuner's own kernels: checksums of their contents, and damage
 * to their guards. */
#ifndef AUTOTUNE_INSPECT_H
#define AUTOTUNE_INSPECT_H

#include "base/error.h"
#include "gpu/device_buffer.h"
#include "gpu/device_context.h"

#include <stddef.h>
#include <stdint.h>

/* The sums of a buffer: of its elements in any order; the number of poisoned elements; and the sum of
 * their places. */
enum { SUM_UNORDERED, SUM_POISONED, SUM_POISONED_PLACES, SUMS };

/* Queues adding the sums of a buffer that was filled with the byte `poison` to the SUMS numbers at `sums`.
 * Returns 0 or ERROR_DEVICE. */
int inspect_sums(struct device_context *device, const struct device_buffer *buffer,
                 unsigned char poison, CUdeviceptr sums, struct error *error);

/* Queues adding a checksum of the buffer's bytes and their places to the number at `sum`. Returns 0 or
 * ERROR_DEVICE. */
int inspect_fingerprint(struct device_context *device, const struct device_buffer *buffer,
                        CUdeviceptr sum, struct error *error);

/* A buffer whose guards are checked, and where the number of damaged bytes is added. */
struct inspect_guard {
    const struct device_buffer *buffer;
    CUdeviceptr damaged;
};

/* Queues the check of `count` guarded buffers. Returns 0 or ERROR_DEVICE. */
int inspect_guards(struct device_context *device, const struct inspect_guard *guards, size_t count,
                   struct error *error);

#endif
