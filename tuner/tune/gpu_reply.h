/*
 * The device worker's replies about a variant (gpu/device_worker.h). A kernel that writes out of
 * bounds may write into its worker's memory, so no reply is taken on trust: one that makes no sense
 * must not become a result.
 */
#ifndef AUTOTUNE_GPU_REPLY_H
#define AUTOTUNE_GPU_REPLY_H

#include "record/study.h"
#include "tune/gpu_request.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What took how long: of a verification, the run alone. */
enum gpu_duration {
    GPU_TOOK_RUN,
    GPU_TOOK_LOAD,
    GPU_TOOK_MEASURE,
    GPU_TOOK_AGAIN, /* to verify after sampling */
    GPU_DURATIONS
};

/* What an answer says. Zero it first; only what its kind of answer has is set. */
struct gpu_reply {
    int64_t took_ns[GPU_DURATIONS];
    const char *entry; /* of the main launch; as long as the reply */
    struct kernel_stats stats;
    double bytes, operations;
    int runs;                 /* that each sample is the mean of */
    double single_ns;         /* median of single samples */
    double empty_batch_ns;    /* of an empty kernel in a batch; 0: not known */
    const double *samples_ns; /* until the next answer is read */
    size_t sample_count;
    double *numbers; /* of the answer; free it */
};

/* Reads a reply. Returns the name of what an answer to `request` cannot have as it is; NULL if there is
 * nothing. */
const char *gpu_reply_read(struct gpu_reply *read, const struct gpu_request *request,
                           const json_t *reply);

/* Whether it says that the variant failed. */
bool gpu_reply_failed(const json_t *reply);

/* A whole number of a reply; 0 if there is none. */
int64_t gpu_reply_integer(const json_t *reply, const char *key);

/* Whether a member is an array of `least` to `most` times, each a number above 0. */
bool gpu_reply_has_times(const json_t *reply, const char *key, size_t least, size_t most);

/* Appends the times of a member to `*times_ns`. */
void gpu_reply_append_times(const json_t *reply, const char *key, double **times_ns, size_t *count);

/* Stores the kernel's statistics, bytes and operations in `result`. */
void gpu_reply_store_stats(const struct gpu_reply *read, struct result *result);

#endif
