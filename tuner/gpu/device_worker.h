/*
 * The device worker: one GPU's context in a process of its own, so that whatever a kernel does to
 * the context ends with that process. It answers one message per request; FORMATS.md lists them.
 */
#ifndef AUTOTUNE_DEVICE_WORKER_H
#define AUTOTUNE_DEVICE_WORKER_H

#include "base/channel.h"
#include "base/error.h"

/*
 * Greets, then serves a GPU until the channel ends. `which` is its number among those that the user
 * shows (CUDA_VISIBLE_DEVICES). With "-1", lists all GPUs and returns. Returns 0, or an error
 * that has been sent as well: ERROR_DEVICE if there is no such GPU.
 */
int device_worker_run(struct channel *channel, const char *which, struct error *error);

#endif
