/* A request to a device worker about a variant, and what its reply is checked against. */
#ifndef AUTOTUNE_GPU_REQUEST_H
#define AUTOTUNE_GPU_REQUEST_H

#include "template/value.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { GPU_REQUEST_NAME_BYTES = 16 };

struct gpu_request {
    char what[GPU_REQUEST_NAME_BYTES]; /* "trial" */
    json_t *message;
    char *bytes; /* behind it: the entry of the cubin cache; NULL: none, or it cannot be read */
    size_t byte_count;
    bool has_id;         /* of a variant that was loaded */
    bool batched;        /* each sample is the mean of a batch, */
    bool may_be_batched; /* or may be one */
    size_t samples;
    double enough_ns;
};

/* What a trial measures. */
struct gpu_client_trial {
    size_t samples;
    /* if the verified run takes longer, its time is the only sample (0: never) */
    double hopeless_ns;
    double enough_ns; /* if the first sample is longer, it is the only one (0: never) */
    double short_ns;  /* if the samples' median is shorter, batches take their place, if they can */
};

/* Both return a request to be released. gpu_request_from() takes over the object. */
struct gpu_request gpu_request_from(json_t *object);
struct gpu_request gpu_request_trial(const char *cubin, const struct bindings *parameters,
                                     const struct gpu_client_trial *trial);

void gpu_request_release(struct gpu_request *request);

#endif
