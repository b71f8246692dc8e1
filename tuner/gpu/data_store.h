/*
 * The buffers and expected results of a problem. What depends on no parameter is made once. The
 * rest is made when a variant asks for it, once for each combination of values of the parameters
 * that it depends on (template/dependencies.h), and kept for the next variant with these values
 * while there is memory: half of what is free once the problem is open. Beyond that, the least
 * recently used is freed, and made again when it is needed.
 *
 * Buffers can move (data_places.h). All places together take at most an eighth of what is free once
 * the problem is open. Buffers that are variables of the source stay where they are: kernels use
 * the variables, which have another address in each copy of the code.
 */
#ifndef AUTOTUNE_DATA_STORE_H
#define AUTOTUNE_DATA_STORE_H

#include "base/error.h"
#include "gpu/data_items.h"
#include "gpu/device_data.h"
#include "gpu/helper_code.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct data_store {
    struct device_context *device;
    const struct template *template;
    const struct bindings *fixed; /* problem values and device attributes */
    const struct helper_code *helpers;
    struct data_items items;
    CUdeviceptr sums;     /* SUMS + 1 numbers, for the sums and the fingerprint of what is made */
    uint64_t data_set;    /* of the fills' random numbers */
    uint64_t runs;        /* of variants, from 1: each may change anything */
    uint64_t refills;     /* counts contents that were made again in the same memory */
    uint64_t limit_bytes; /* of what depends on parameters */
    bool spoilt; /* a helper changed data or wrote beyond it: the store must be made again */
};

/* All pointers are borrowed. Returns 0 or ERROR_DEVICE. */
int data_store_init(struct data_store *store, struct device_context *device,
                    const struct template *template, const struct bindings *fixed,
                    const struct helper_code *helpers, struct error *error);
void data_store_release(struct data_store *store); /* a zeroed store is allowed */

/*
 * Random numbers of the template's fills are those of `data_set` from now on (fill.h): all contents are
 * made again, where they are, when they are next taken. Does nothing if they are of it already.
 */
void data_store_draw(struct data_store *store, uint64_t data_set);

/*
 * A variant may write anywhere. data_store_check() compares what a variant with these parameters would
 * find with what was made, unless data_store_trust() has said so since the last variant ran; what has
 * changed is made again when it is next taken. data_store_trust() says that this was just found of
 * everything that data_store_take() last took. Returns 0 or ERROR_DEVICE.
 */
int data_store_check(struct data_store *store, const struct bindings *parameters,
                     struct error *error);
void data_store_trust(struct data_store *store);

/* A variant is about to run. */
void data_store_note_run(struct data_store *store);

/* Whether everything that a variant with these parameters needs has been made. */
bool data_store_has(const struct data_store *store, const struct bindings *parameters);

/*
 * Gives `data` the buffers and expected results of a variant with these parameters (NULL: just
 * those that depend on none), and makes what is missing, which may take as long as a reference
 * does. Moves the buffers to `place`, any number; 0 is where they were made. Returns 0; ERROR_CONFIG if
 * an expression fails, a file does not fit, or a reference or a fill writes nothing, changes a buffer
 * that it may only read, or writes out of bounds (then the store is spoilt); or ERROR_DEVICE, with
 * device->last CUDA_ERROR_OUT_OF_MEMORY if there is not enough memory even for this alone.
 */
int data_store_take(struct data_store *store, const struct bindings *parameters, size_t place,
                    struct device_data *data, struct error *error);

/* Frees everything that depends on parameters except what data_store_take() last took, and all
 * places that are not in use. Returns whether there was anything to free. */
bool data_store_shrink(struct data_store *store);

#endif
