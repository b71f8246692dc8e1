/*
 * The requests that follow a trial, received while the GPU is busy with that trial, and the code of
 * their variants. Reading a cubin takes 0.03 ms, in which the GPU would otherwise have nothing to do.
 * cuModuleLoadData and cuModuleUnload wait until the GPU is idle, and then take 0.02 and 0.01 ms.
 *
 * Calling sequence: ahead_receive() in place of channel_receive(); ahead_read() while the GPU takes
 * samples, since it does not call the driver; ahead_load() while the GPU checks results, never while it
 * takes samples; ahead_take() for the code of the last request received.
 */
#ifndef AUTOTUNE_AHEAD_H
#define AUTOTUNE_AHEAD_H

#include "base/channel.h"
#include "base/error.h"
#include "compile/compilation.h"
#include "gpu/device_context.h"

#include <jansson.h>
#include <stddef.h>

/* The next request, whose code is loaded during a trial, and the one behind it, whose code is read. */
enum { AHEAD_REQUESTS = 2 };

/* A cubin and the module it was loaded as. */
struct loaded_code {
    struct compilation compilation; /* without a cubin, it was not read */
    CUmodule module;                /* NULL: it is not loaded yet */
};

struct request_ahead {
    json_t *request;
    struct loaded_code code;
};

/* Zeroed, nothing was received ahead. */
struct ahead {
    struct request_ahead next[AHEAD_REQUESTS]; /* the oldest first */
    size_t count;
    struct loaded_code present; /* of the request received last, until it is taken */
};

/* Waits for the next request, unless it was received ahead. As channel_receive(). */
int ahead_receive(struct ahead *ahead, struct device_context *device, struct channel *channel,
                  json_t **request, struct error *error);

/* Receives the next requests if they have come, and reads the code of those that are trials. */
void ahead_read(struct ahead *ahead, struct channel *channel);

/* Loads the code of the next request, which is received and read first if that was not done. If that
 * fails, it is done again, and reported, when the trial begins. */
void ahead_load(struct ahead *ahead, struct device_context *device, struct channel *channel);

/* Hands over the code of the request received last: `module` is NULL if it is not loaded, and the
 * compilation is empty if it was not read. */
struct loaded_code ahead_take(struct ahead *ahead);

/* Unloads what is loaded: it may have been damaged. The requests stay. */
void ahead_unload(struct ahead *ahead, struct device_context *device);

/* The context and its modules end with the process. */
void ahead_release(struct ahead *ahead);

#endif
