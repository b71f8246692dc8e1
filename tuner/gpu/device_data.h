/*
 * What one variant works on and is compared with: the buffers of its problem with their initial
 * contents, and the expected results. They belong to the data store (data_store.h), which may free
 * them whenever another variant needs memory: ask it for them again before each use.
 */
#ifndef AUTOTUNE_DEVICE_DATA_H
#define AUTOTUNE_DEVICE_DATA_H

#include "base/error.h"
#include "gpu/device_buffer.h"
#include "gpu/inspect.h"
#include "template/launch_plan.h"
#include "template/template.h"

#include <stdint.h>

struct device_data {
    const struct template *template;
    struct device_buffer *buffers;  /* one per template->buffers[i]; none for scratch */
    struct device_buffer *pristine; /* initial contents of read_write buffers */
    struct device_buffer *expected; /* one per template->expectations[i] */
    uint64_t (*expected_sums)[SUMS];
    /* inspect_fingerprint() of what no variant may change: of read buffers and of pristine ones */
    uint64_t *fingerprints;
    uint64_t *expected_fingerprints;
};

/* Makes it empty; its addresses then stay the same, because launches' arguments point into it. */
void device_data_init(struct device_data *data, const struct template *template);
void device_data_release(struct device_data *data); /* zeroed data is allowed */

/* Forgets the contents. */
void device_data_clear(struct device_data *data);

/* Queues the copies that restore read_write buffers to their initial contents. */
int device_data_restore(const struct device_data *data, struct device_context *device,
                        struct error *error);

/* Queues poisoning the outputs. */
int device_data_poison(const struct device_data *data, struct device_context *device,
                       struct error *error);

#endif
