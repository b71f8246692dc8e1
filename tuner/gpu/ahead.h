/*
 * The request that follows a trial, received while the GPU is busy with that trial, and the code of its
 * variant. Loading code takes 0.1 ms, in which the GPU would otherwise have nothing to do.
 *
 * Calling sequence: ahead_receive() in place of channel_receive(); ahead_look() while the GPU checks
 * results, never while it takes samples; ahead_take() for the code of the last request received.
 */
#ifndef AUTOTUNE_AHEAD_H
#define AUTOTUNE_AHEAD_H

#include "base/channel.h"
#include "base/error.h"
#include "compile/compilation.h"
#include "gpu/device_context.h"

#include <jansson.h>

/* A cubin and the module it was loaded as. */
struct loaded_code {
    struct compilation compilation;
    CUmodule module; /* NULL: there is none */
};

/* Zeroed, nothing was received ahead. */
struct ahead {
    json_t *request; /* the next one; NULL: it has not come yet */
    struct loaded_code next;
    struct loaded_code present; /* of the request received last, until it is taken */
};

/* Waits for the next request, unless it was received ahead. As channel_receive(). */
int ahead_receive(struct ahead *ahead, struct device_context *device, struct channel *channel,
                  json_t **request, struct error *error);

/* Receives the next request if it has come, and loads its code if it is a trial. If that fails, it is
 * done again, and reported, when the trial begins. */
void ahead_look(struct ahead *ahead, struct device_context *device, struct channel *channel);

/* Hands over the code of the request received last; `module` is NULL if there is none. */
struct loaded_code ahead_take(struct ahead *ahead);

/* Unloads what is loaded: it may have been damaged. The request stays. */
void ahead_unload(struct ahead *ahead, struct device_context *device);

/* The context and its modules end with the process. */
void ahead_release(struct ahead *ahead);

#endif
