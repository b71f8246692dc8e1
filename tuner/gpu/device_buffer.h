/*
 * Buffers on the GPU between two guard regions, and what is done to them without bringing them
 * back: filling, poisoning, restoring. Everything is queued on the device's stream unless said
 * otherwise.
 */
#ifndef AUTOTUNE_DEVICE_BUFFER_H
#define AUTOTUNE_DEVICE_BUFFER_H

#include "base/error.h"
#include "gpu/device_context.h"
#include "template/element.h"
#include "template/expression.h"
#include "template/footprint.h"
#include "template/template.h"

#include <stdint.h>

enum { GUARD_PATTERN = 0xc3 };

struct device_buffer {
    CUdeviceptr base; /* of the guard before; 0: not allocated */
    CUdeviceptr data; /* aligned to 256 bytes at least */
    enum element_type type;
    uint64_t length; /* elements */
    uint64_t bytes;  /* of the data */
    bool borrowed;   /* from an arena: not freed by itself */
};

/*
 * Memory that small buffers are cut from, since cuMemAlloc and cuMemFree cost more than a short
 * kernel. Emptied as a whole: set `used` to 0 when no buffer from it is in use.
 */
struct device_arena {
    CUdeviceptr base; /* 0: none */
    uint64_t size, used;
};

int device_arena_new(struct device_context *device, struct device_arena *arena, uint64_t size,
                     struct error *error);
void device_arena_free(struct device_context *device, struct device_arena *arena);

/*
 * Allocates `length` elements, from `arena` (NULL: none) where they fit, and fills the guards.
 * Returns 0 or ERROR_DEVICE (CUDA_ERROR_OUT_OF_MEMORY says how much was wanted and is free).
 */
int device_buffer_new(struct device_context *device, struct device_buffer *buffer,
                      struct device_arena *arena, enum element_type type, uint64_t length,
                      struct error *error);
void device_buffer_free(struct device_context *device, struct device_buffer *buffer);

/* Fills as the template says; FILL_NONE poisons. A file must hold exactly the buffer's elements, in
 * its type. */
int device_buffer_fill(struct device_context *device, const struct device_buffer *buffer,
                       const struct fill *fill, const struct scope *scope, struct error *error);

/* Every byte to element_poison(). */
int device_buffer_poison(struct device_context *device, const struct device_buffer *buffer,
                         struct error *error);

/* Copies all of `from`, of the same size. */
int device_buffer_copy(struct device_context *device, const struct device_buffer *to,
                       const struct device_buffer *from, struct error *error);

#endif
