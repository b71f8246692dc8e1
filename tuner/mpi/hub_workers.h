/* The sockets between the coordinator and its workers on other machines, of which the hub has the
 * other ends. */
#ifndef AUTOTUNE_HUB_WORKERS_H
#define AUTOTUNE_HUB_WORKERS_H

#include "mpi/bytes.h"
#include "mpi/peers.h"

#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HUB_UNSENT_BYTES = 1 << 20 }; /* to a node; what comes from the coordinator then waits */

struct hub_worker {
    uint32_t id;
    int rank;
    int socket;            /* the coordinator's channel; -1: closed */
    struct bytes requests; /* from the coordinator, as far as they are not complete */
    struct bytes unsent;   /* to the coordinator */
    bool ended;
    bool ready; /* as poll() says: something can be read, or written again */
};

/* In the order of their ids. Zeroed: none. */
struct hub_workers {
    struct hub_worker **list;
    size_t count;
    json_t *
        kept; /* "RANK HASH" of what a node has been sent to keep; an object, as a set; NULL: nothing */
};

/* `socket` becomes the worker's. */
struct hub_worker *hub_workers_add(struct hub_workers *workers, uint32_t id, int rank, int socket);
struct hub_worker *hub_workers_find(const struct hub_workers *workers, uint32_t id); /* or NULL */
void hub_workers_release(struct hub_workers *workers);

/* Moves what can be moved without waiting, of those that are ready or have more for the coordinator;
 * returns whether anything was. Forgets workers that have
 * ended, when the coordinator has all their replies. */
bool hub_workers_serve(struct hub_workers *workers, struct peers *peers);

/* What to wait for. */
struct pollfd hub_worker_events(const struct hub_worker *worker, const struct peers *peers);

#endif
