/*
 * The GPUs of a run: a device worker and a lock for each.
 *
 * Calling sequence:
 *     fleet_start, which starts the workers; they make their contexts meanwhile
 *     fleet_identify: which GPUs these are, from the last time or from the workers
 *     fleet_lock: no other run measures on them
 *     fleet_confirm, before anything is measured: what was known from the last time still holds
 *     fleet_end_begin, when everything is measured, if there is other work
 *     fleet_release, in any case
 */
#ifndef AUTOTUNE_FLEET_H
#define AUTOTUNE_FLEET_H

#include "base/error.h"
#include "base/event_loop.h"
#include "base/worker.h"
#include "record/gpu.h"
#include "template/device_list.h"
#include "tune/gpu_client.h"
#include "tune/gpu_lock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fleet_gpu {
    struct node *node; /* NULL: this machine */
    int ordinal;       /* of its GPUs */
    struct gpu gpu;
    bool assumed;         /* `gpu` is from the last time; the device worker has not confirmed it */
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

/* Starts a device worker for each GPU of the list, as gpu_places.h finds them. `folder` is that of the
 * cubin cache, which also has what is known from the last time. Returns 0, ERROR_DEVICE if there are
 * none, ERROR_USAGE if they are too many, or ERROR_WORKER. */
int fleet_start(struct fleet *fleet, const struct device_list *devices, struct nodes *nodes,
                const char *folder, struct event_loop *loop, struct error *error);

/* Lets the device workers end, for which the driver needs some 50 ms or more, while the caller does
 * something else. Only gpu_client_monitor_error() and fleet_release() may follow. */
void fleet_end_begin(const struct fleet *fleet);
void fleet_release(struct fleet *fleet);

/* Asks the workers of GPUs that are not known from the last time. Returns 0 or an error of
 * gpu_client_gpu(). */
int fleet_identify(struct fleet *fleet, const char *folder, struct error *error);

/* Asks the GPU's worker. A GPU that is not the same as the last time is ERROR_DEVICE; what it is has
 * been noted for the next run. */
int fleet_confirm(struct fleet_gpu *gpu, const char *folder, struct error *error);

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
