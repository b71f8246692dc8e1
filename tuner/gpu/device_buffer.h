/*
 * Buffers on the GPU, each between two guard regions: allocate, fill, poison, copy and inspect them without
 * a round trip to the host, and move them to other places. All work is queued on the device's stream; only
 * a fill from a file, and what fetches single elements, waits. What returns int returns 0 or ERROR_DEVICE
 * unless it says more.
 */
#ifndef AUTOTUNE_DEVICE_BUFFER_H
#define AUTOTUNE_DEVICE_BUFFER_H

#include "base/error.h"
#include "gpu/driver.h"
#include "template/element.h"
#include "template/footprint.h"
#include "template/template.h"
#include "template/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A large number in every type: what reads beyond a buffer finds it, and a maximum, a sum or a condition shows. */
enum { GUARD_PATTERN = 0x7b };

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
void device_arena_free(struct device_context *device, struct device_arena *arena);

/* Frees all of its buffers at once. Queues poisoning their memory. */
int device_arena_clear(struct device_context *device, struct device_arena *arena,
                       struct error *error);

/* What is not in use; without guards, and without memory if that is nothing. */
struct device_buffer device_arena_rest(const struct device_arena *arena);

/*
 * Allocates `length` elements, from `arena` (NULL: none) if they fit, and fills the guards. Returns
 * ERROR_CONFIG if the size overflows. The CUDA_ERROR_OUT_OF_MEMORY message says how many bytes were
 * needed and how many are free.
 */
int device_buffer_new(struct device_context *device, struct device_buffer *buffer,
                      struct device_arena *arena, enum element_type type, uint64_t length,
                      struct error *error);
void device_buffer_free(struct device_context *device, struct device_buffer *buffer);

/* Fills the guards, unless the buffer is not allocated. What reads beyond a buffer finds the pattern there. */
int device_buffer_guard(struct device_context *device, const struct device_buffer *buffer,
                        unsigned char pattern, struct error *error);

/*
 * Fills the buffer as the template says, with the random numbers of `data_set` (fill.h); FILL_NONE
 * poisons it. A file must contain exactly buffer->length elements of the buffer's type. The caller
 * handles FILL_KERNEL, and then the border, which device_buffer_clear_border() zeroes if there is one.
 * Both return ERROR_CONFIG if an expression fails or the file does not fit.
 */
int device_buffer_fill(struct device_context *device, const struct device_buffer *buffer,
                       const struct fill *fill, uint64_t data_set, const struct scope *scope,
                       struct error *error);
int device_buffer_clear_border(struct device_context *device, const struct device_buffer *buffer,
                               const struct fill *fill, const struct scope *scope,
                               struct error *error);

/* Sets every byte to `poison`. */
int device_buffer_poison(struct device_context *device, const struct device_buffer *buffer,
                         unsigned char poison, struct error *error);

/* Copies all of `from`, which has the same size. */
int device_buffer_copy(struct device_context *device, const struct device_buffer *to,
                       const struct device_buffer *from, struct error *error);

/* --- inspecting --- */

/* The sums of a buffer: of its elements in any order; the number of poisoned elements; and the sum of
 * their places. Queues adding those of a buffer that was filled with the byte `poison` to the SUMS numbers
 * at `sums`. */
enum { SUM_UNORDERED, SUM_POISONED, SUM_POISONED_PLACES, SUMS };
int device_buffer_sums(struct device_context *device, const struct device_buffer *buffer,
                       unsigned char poison, CUdeviceptr sums, struct error *error);

/* An expected result, as it was made. */
struct expected {
    struct device_buffer buffer;
    uint64_t sums[SUMS];
    uint64_t fingerprint;
};

/* Queues adding a checksum of the buffer's bytes and their places to the number at `sum`. */
int device_buffer_fingerprint(struct device_context *device, const struct device_buffer *buffer,
                              CUdeviceptr sum, struct error *error);

/* Guards to be checked, as device_kernels.cu takes them. Set `pattern`, and the others to zero. */
enum { GUARDS = 16 };
struct guard_checks {
    CUdeviceptr guard[GUARDS];
    CUdeviceptr damaged[GUARDS];
    int count;
    unsigned char pattern;
};

/* Adds the guards of a buffer that is allocated, whose damaged bytes are added to the number at `damaged`, and
 * queues the check of all that were added if there are many. After the last buffer, device_buffer_end_guards()
 * queues the rest. */
int device_buffer_check_guards(struct device_context *device, const struct device_buffer *buffer,
                               CUdeviceptr damaged, struct guard_checks *checks,
                               struct error *error);
int device_buffer_end_guards(struct device_context *device, struct guard_checks *checks,
                             struct error *error);

/* One element as text, with the digits of the type `result`; "?" if it cannot be fetched. */
void device_buffer_element_text(struct device_context *device, const struct device_buffer *buffer,
                                uint64_t index, enum element_type result,
                                char text[ELEMENT_TEXT_BYTES]);

/* Whether an element is still the poison; never true for a type smaller than ELEMENT_POISON_BYTES. */
bool device_buffer_element_is_poison(struct device_context *device,
                                     const struct device_buffer *buffer, unsigned char poison,
                                     uint64_t index);

/* --- places --- */

/*
 * Where a buffer lies in GPU memory changes how fast a variant is, and the driver decides it when it
 * allocates the buffer: on an H200, a sum of 2^24 floats takes up to 1 % more or less time when its result
 * and its partial sums, a few kilobytes in all, lie elsewhere (tests/bench/DETAILS.md). Each round of the
 * finals therefore moves the buffers to another place, so that the winner is the variant that is fastest
 * wherever an application's buffers lie, and not the one that was lucky with its own. A place is an
 * allocation; the buffer takes its contents and its guards along. With a warm cache, and in batches
 * (batch.h), buffers stay where they are. So does one of more than PLACES_LARGEST bytes: its place hardly
 * matters (that of the 2^24 floats makes no measurable difference), and copies of it take time.
 */
enum {
    BUFFER_PLACES = 64, /* as race_rules.copies in tune/race.h */
    PLACES_LARGEST = 16 * 1024 * 1024,
};

/* Of one buffer. Initialise to zero. */
struct buffer_places {
    CUdeviceptr bases[BUFFER_PLACES]; /* the first is the buffer's own, where it was made */
    size_t count;                     /* 0: it has not moved yet */
};

/*
 * Moves the buffer to place `number` modulo BUFFER_PLACES; allocates that if it is new, and takes its
 * bytes off `*left_bytes`. If these do not suffice, or GPU memory is short, uses one of the places
 * that there are.
 */
int device_buffer_place(struct buffer_places *places, struct device_context *device,
                        struct device_buffer *buffer, size_t number, uint64_t *left_bytes,
                        struct error *error);

/* Frees all places but the first and the one where the buffer is. Returns whether there were any. */
bool device_buffer_shrink_places(struct buffer_places *places, struct device_context *device,
                                 const struct device_buffer *buffer, uint64_t *left_bytes);

/* Frees all places but the first, and gives the buffer that, without its contents. */
void device_buffer_release_places(struct buffer_places *places, struct device_context *device,
                                  struct device_buffer *buffer, uint64_t *left_bytes);

#endif
