/* The GPUs of a machine and those of a run. */
#ifndef AUTOTUNE_FLEET_H
#define AUTOTUNE_FLEET_H

#include "base/error.h"
#include "base/event_loop.h"
#include "base/node.h"
#include "base/worker.h"
#include "record/gpu.h"
#include "template/sweep.h"
#include "tune/device_client.h"
#include "tune/device_lock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Asks a device worker of this machine, which ends with its answer. `*gpus` is a new array. Returns 0, or
 * ERROR_DEVICE (no driver, or it does not answer), ERROR_WORKER or ERROR_INTERRUPTED. */
int gpu_list(struct gpu **gpus, size_t *count, struct error *error);

/*
 * The GPUs of a run: a device worker and a lock for each.
 *
 * Calling sequence:
 *     fleet_start, which starts the workers; they make their contexts meanwhile
 *     fleet_identify: which GPUs these are
 *     fleet_lock: no other run measures on them
 *     fleet_end_begin, when everything is measured, if there is other work
 *     fleet_release, in any case
 */

struct fleet_gpu {
    struct node *node; /* NULL: this machine */
    int ordinal;       /* of its GPUs */
    struct gpu gpu;
    struct device_lock lock; /* of a GPU of this machine; of others, only the owner */
    struct worker holder;    /* of the lock of another machine's */
    struct device_client *client;
    bool open;       /* the problem at hand is open on it */
    bool away;       /* it takes no part in the problem at hand, */
    bool lost;       /* nor in any other, because its driver or its worker failed */
    bool pauses;     /* until `back_ns`, because it is throttled or used by another process */
    bool has_paused; /* before: the user knows */
    int64_t back_ns;
};

/* Zeroed has none. */
struct fleet {
    struct fleet_gpu *gpus;
    size_t count;
};

/* Starts a device worker for each GPU of the list. On one machine (`nodes` is NULL) that is GPU 0 if nothing is stated.
 * In a cluster all GPUs of all machines if nothing is stated, and otherwise those that exist on each. Returns 0,
 * ERROR_DEVICE if there are none, ERROR_USAGE if they are too many, or ERROR_WORKER. */
int fleet_start(struct fleet *fleet, const struct device_list *devices, struct nodes *nodes,
                struct event_loop *loop, struct error *error);

/* Lets the device workers end, for which the driver needs some 50 ms or more, while the caller does
 * something else. Only reading and fleet_release() may follow. */
void fleet_end_begin(const struct fleet *fleet);
void fleet_release(struct fleet *fleet);

/* Asks the workers. Returns 0 or an error of device_client_gpu(). */
int fleet_identify(struct fleet *fleet, struct error *error);

/* Who is told that the run waits for another one. */
struct fleet_notice {
    void (*notice)(void *user, const struct error *notice);
    void *user;
};

/* Takes the locks of all. Waits for runs that hold one, with no worker on any GPU meanwhile, unless
 * `no_wait`: then it is ERROR_DEVICE, as are two GPUs with one UUID. `*waited_ns` is how long that
 * took. */
int fleet_lock(struct fleet *fleet, bool no_wait, const struct fleet_notice *notice,
               int64_t *waited_ns, struct error *error);

#endif
