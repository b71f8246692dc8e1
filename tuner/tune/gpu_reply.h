/*
 * The device worker's replies about a variant (gpu/device_worker.h). A kernel that writes out of
 * bounds may write into its worker's memory, so no reply is taken on trust: one that makes no sense
 * must not become a result.
 */
#ifndef AUTOTUNE_GPU_REPLY_H
#define AUTOTUNE_GPU_REPLY_H

#include "record/study.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The member of `reply` that an answer to `request` cannot have as it is; NULL if there is none. */
const char *gpu_reply_flaw(const json_t *request, const json_t *reply);

/* Whether it says that the variant failed. */
bool gpu_reply_failed(const json_t *reply);

/* A whole number of a reply; 0 if there is none. */
int64_t gpu_reply_integer(const json_t *reply, const char *key);

/* Whether a member is an array of `least` to `most` times, each a number above 0. */
bool gpu_reply_has_times(const json_t *reply, const char *key, size_t least, size_t most);

/* Appends the times of a member to `*times_ns`. */
void gpu_reply_append_times(const json_t *reply, const char *key, double **times_ns, size_t *count);

/* Stores the kernel's statistics, bytes and operations in `result`. */
void gpu_reply_store_stats(const json_t *reply, struct result *result);

#endif
