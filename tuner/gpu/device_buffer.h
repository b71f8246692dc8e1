/*
 * Buffers on the GPU, each between two guard regions: allocate, fill, poison and copy them without
 * a round trip to the host. All work is queued on the device's stream; only a fill from a file
 * waits.
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
    CUdeviceptr base; /* of the guard in front; 0: not allocated */
    CUdeviceptr data; /* aligned to 256 bytes at least */
    enum element_type type;
    uint64_t length; /* elements */
    uint64_t bytes;  /* of the data */
    bool borrowed;   /* from an arena, which frees it */
};

/*
 * A bump allocator for small buffers, because cuMemAlloc and cuMemFree take longer than a short
 * kernel. What is not in use is poisoned, so that stray writes show.
 */
struct device_arena {
    CUdeviceptr base; /* 0: none */
    uint64_t size, used;
};

int device_arena_new(struct device_context *device, struct device_arena *arena, uint64_t size,
                     struct error *error);

/* Frees all of its buffers at once. Queues poisoning their memory. */
int device_arena_clear(struct device_context *device, struct device_arena *arena,
                       struct error *error);

/* What is not in use; without guards, and without memory if that is nothing. */
struct device_buffer device_arena_rest(const struct device_arena *arena);
void device_arena_free(struct device_context *device, struct device_arena *arena);

/*
 * Allocates `length` elements, from `arena` (NULL: none) if they fit, and fills the guards. Returns
 * 0, ERROR_CONFIG if the size overflows, or ERROR_DEVICE. The CUDA_ERROR_OUT_OF_MEMORY message says
 * how many bytes were needed and how many are free.
 */
int device_buffer_new(struct device_context *device, struct device_buffer *buffer,
                      struct device_arena *arena, enum element_type type, uint64_t length,
                      struct error *error);
void device_buffer_free(struct device_context *device, struct device_buffer *buffer);

/* The type and length of a template's buffer. Returns 0, or ERROR_CONFIG if an expression fails or
 * the length is negative. */
int device_buffer_describe(const struct buffer *buffer, const struct scope *scope,
                           enum element_type *type, uint64_t *length, struct error *error);

/* Zeroes what the fill's border covers, if it has one. */
int device_buffer_clear_border(struct device_context *device, const struct device_buffer *buffer,
                               const struct fill *fill, const struct scope *scope,
                               struct error *error);

/* Fills the buffer as the template says, with the random numbers of `data_set` (fill.h); FILL_NONE
 * poisons it. A file must contain exactly buffer->length elements of the buffer's type. The caller
 * handles FILL_KERNEL and the border. */
int device_buffer_fill(struct device_context *device, const struct device_buffer *buffer,
                       const struct fill *fill, uint64_t data_set, const struct scope *scope,
                       struct error *error);

/* Sets every byte to `poison`. */
int device_buffer_poison(struct device_context *device, const struct device_buffer *buffer,
                         unsigned char poison, struct error *error);

/* How many bytes are allocated for it, guards included. */
uint64_t device_buffer_total(const struct device_buffer *buffer);

/* Copies the buffer, with its guards, to an allocation of the same size at `base`, where it is from
 * then on. The old allocation is the caller's. */
int device_buffer_move(struct device_context *device, struct device_buffer *buffer,
                       CUdeviceptr base, struct error *error);

/* Copies all of `from`, which has the same size. */
int device_buffer_copy(struct device_context *device, const struct device_buffer *to,
                       const struct device_buffer *from, struct error *error);

#endif
