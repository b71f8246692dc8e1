/*
 * The buffers and expected results of a problem, and what one variant gets of them.
 *
 * What depends on no parameter is made once. The rest is made when a variant asks for it, once for each
 * combination of values of the parameters that it depends on (template/dependencies.h), and kept for the
 * next variant with these values while there is memory: half of what is free once the problem is open.
 * Beyond that, the least recently used is freed, and made again when it is needed.
 *
 * Buffers can move (device_buffer.h). All places together take at most an eighth of what is free once
 * the problem is open. Buffers that are variables of the source stay where they are: kernels use
 * the variables, which have another address in each copy of the code.
 */
#ifndef AUTOTUNE_DATA_STORE_H
#define AUTOTUNE_DATA_STORE_H

#include "base/error.h"
#include "gpu/device_buffer.h"
#include "gpu/device_code.h"
#include "gpu/driver.h"
#include "template/template.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What one variant works on and is compared with. It belongs to the store, which may free it whenever another
 * variant needs memory: ask the store for it again before each use. The addresses of `buffers` stay the same,
 * because launches' arguments point there.
 */
struct device_data {
    const struct template *template;
    struct device_buffer *buffers;  /* one per template->buffers[i]; none for scratch */
    struct device_buffer *pristine; /* initial contents of read_write buffers */
    uint64_t *fingerprints;         /* of what no variant may change: read and pristine buffers */
    struct expected *expected;      /* one per template->expectations[i] */
};

void device_data_init(struct device_data *data, const struct template *template);
void device_data_release(struct device_data *data); /* zeroed data is allowed */

/* Queues the copies that restore read_write buffers to their initial contents. */
int device_data_restore(const struct device_data *data, struct device_context *device,
                        struct error *error);

/* A buffer or an expected result for one combination of the values of the parameters that it depends on. */
struct data_item {
    size_t member;                 /* index of the buffer, or behind all, of the expectation */
    struct bindings key;           /* the values of just those parameters */
    struct device_buffer buffer;   /* of an expectation: what is expected */
    struct buffer_places places;   /* of `buffer` */
    struct device_buffer pristine; /* initial contents of a read_write buffer */
    uint64_t sums[SUMS];
    uint64_t fingerprint; /* of what no variant may change */
    bool stale;           /* its contents are to be made again, in the same memory */
    uint64_t used;        /* data_store.time when last */
    uint64_t intact; /* data_store.runs when its contents were last found unchanged; 0: never */
};

struct data_store {
    struct device_context *device;
    const struct template *template;
    const struct bindings *fixed; /* problem values and device attributes */
    const struct helper_code *helpers;
    struct data_item **list;
    size_t count;
    CUdeviceptr sums;     /* SUMS + 1 numbers, for the sums and the fingerprint of what is made */
    uint64_t data_set;    /* of the fills' random numbers */
    uint64_t time;        /* counts the variants that were served */
    uint64_t runs;        /* of variants, from 1: each may change anything */
    uint64_t refills;     /* counts contents that were made again in the same memory */
    uint64_t kept_bytes;  /* of what depends on parameters */
    uint64_t limit_bytes; /* for that */
    uint64_t place_bytes; /* may still be allocated for more places of buffers */
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
 * find, guards included, with what was made, unless data_store_trust() has said so since the last variant
 * ran; what has changed is made again when it is next taken. data_store_trust() says that this was just found
 * of everything that data_store_take() last took. Returns 0 or ERROR_DEVICE.
 */
int data_store_check(struct data_store *store, const struct bindings *parameters,
                     struct error *error);
void data_store_trust(struct data_store *store);

/* The same for all that it did not take: other variants' data, that a stray write may have hit. Says whether
 * any was damaged since it was last checked. */
int data_store_check_others(struct data_store *store, bool *damaged, struct error *error);

/* Mends the guards of a buffer, if it has memory, and sets `*fingerprint` to that of its contents. Sets `*damaged` if a
 * guard was damaged, or if the buffer is constant and had another fingerprint before; never clears it. */
int data_store_check_buffer(struct data_store *store, const struct device_buffer *buffer,
                            bool constant, uint64_t *fingerprint, bool *damaged,
                            struct error *error);

/* A variant is about to run. */
void data_store_note_run(struct data_store *store);

/* Whether anything depends on parameters. */
bool data_store_is_dependent(const struct data_store *store);

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
