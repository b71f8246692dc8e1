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
#ifndef AUTOTUNE_FLEET_H
#define AUTOTUNE_FLEET_H

#include "base/error.h"
#include "base/event_loop.h"
#include "base/worker.h"
#include "record/gpu.h"
#include "template/sweep.h"
#include "tune/gpu_client.h"
#include "tune/gpu_lock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fleet_gpu {
    struct node *node; /* NULL: this machine */
    int ordinal;       /* of its GPUs */
    struct gpu gpu;
    struct gpu_lock lock; /* of a GPU of this machine; of others, only the owner */
    struct worker holder; /* of the lock of another machine's */
    struct gpu_client *client;
    bool open;        /* the problem at hand is open on it */
    bool away;        /* it takes no work until `back_ns`, because it failed or is disturbed */
    bool broken;      /* its worker has to be restarted then */
    int64_t pause_ns; /* the last time; longer if it happens again */
    int64_t back_ns;
};

/* Zeroed has none. */
struct fleet {
    struct fleet_gpu *gpus;
    size_t count;
};

/* Starts a device worker for each GPU of the list, as gpu_places.h finds them. Returns 0, ERROR_DEVICE
 * if there are none, ERROR_USAGE if they are too many, or ERROR_WORKER. */
int fleet_start(struct fleet *fleet, const struct device_list *devices, struct nodes *nodes,
                struct event_loop *loop, struct error *error);

/* Lets the device workers end, for which the driver needs some 50 ms or more, while the caller does
 * something else. Only gpu_client_monitor_error() and fleet_release() may follow. */
void fleet_end_begin(const struct fleet *fleet);
void fleet_release(struct fleet *fleet);

/* Asks the workers. Returns 0 or an error of gpu_client_gpu(). */
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
