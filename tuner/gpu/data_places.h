/*
 * Where a buffer lies in GPU memory. The driver decides that when it allocates the buffer, and it
 * changes how fast a variant is: on an H200, a sum of 2^24 floats takes up to 1 % more or less time
 * when its result and its partial sums, a few kilobytes in all, lie elsewhere
 * (tests/bench/README.md). Each round of the finals therefore moves the buffers to another place, so
 * that the winner is the variant that is fastest wherever an application's buffers lie, and not the
 * one that was lucky with its own. A place is an allocation. The buffer takes its contents and its
 * guards along. With a warm cache, and in batches (batch.h), buffers stay where they are.
 *
 * A buffer of more than PLACES_LARGEST bytes stays where it is: its place hardly matters (that of
 * the 2^24 floats makes no measurable difference), and copies of it take time.
 */
#ifndef AUTOTUNE_DATA_PLACES_H
#define AUTOTUNE_DATA_PLACES_H

#include "base/error.h"
#include "gpu/device_buffer.h"
#include "gpu/device_context.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DATA_PLACES = 64, /* as race_rules.copies in tune/race.h */
    PLACES_LARGEST = 16 * 1024 * 1024,
};

/* Of one buffer. Initialise to zero. */
struct data_places {
    CUdeviceptr bases[DATA_PLACES]; /* the first is the buffer's own, where it was made */
    size_t count;                   /* 0: it has not moved yet */
};

/*
 * Moves the buffer to place `number` modulo DATA_PLACES; allocates that if it is new, and takes its
 * bytes off `*left_bytes`. If these do not suffice, or GPU memory is short, uses one of the places
 * that there are. Returns 0 or ERROR_DEVICE.
 */
int data_places_move(struct data_places *places, struct device_context *device,
                     struct device_buffer *buffer, size_t number, uint64_t *left_bytes,
                     struct error *error);

/* Frees all places but the first and the one where the buffer is. Returns whether there were any. */
bool data_places_shrink(struct data_places *places, struct device_context *device,
                        const struct device_buffer *buffer, uint64_t *left_bytes);

/* Frees all places but the first, and gives the buffer that, without its contents. */
void data_places_release(struct data_places *places, struct device_context *device,
                         struct device_buffer *buffer, uint64_t *left_bytes);

#endif
