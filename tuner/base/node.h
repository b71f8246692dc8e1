/*
 * The machines of a cluster, as the coordinator sees them. autotune-mpi starts the coordinator with
 * a socket, whose number is in $AUTOTUNE_NODES, and keeps its other end; mpi/README.md lists the
 * messages on it. A worker on another machine has a socket of its own: its channel, with the same
 * messages as a local one's.
 *
 * Calling sequence:
 *     status = nodes_open(&nodes, error);        NULL if this is not a cluster
 *     worker_start(&worker, nodes_at(nodes, 3), "compile", NULL, error);
 *     nodes_close(nodes);                        when none of their workers is left
 */
#ifndef AUTOTUNE_NODE_H
#define AUTOTUNE_NODE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node {
    struct nodes *nodes;
    size_t number; /* 0: this machine */
    char host[65];
    size_t cores; /* that compile workers may use */
    bool silent;  /* nothing has been heard of it for a while: no worker is to blame */
    bool lost;    /* it is gone, and so are its workers */
};

struct nodes;

/* Waits until all nodes are there. Returns 0, with NULL without $AUTOTUNE_NODES; ERROR_DEVICE naming
 * a host with another autotune; or ERROR_WORKER. */
int nodes_open(struct nodes **nodes, struct error *error);
void nodes_close(struct nodes *nodes); /* NULL is allowed */

/* This machine is the first one. 0 and NULL if `nodes` is NULL. */
size_t nodes_count(const struct nodes *nodes);
struct node *nodes_at(const struct nodes *nodes, size_t number);

/* NULL is this machine, too. */
bool node_is_here(const struct node *node);

/* " of node 'host'" for messages, "" for this machine if it is the only one. */
enum { NODE_SUFFIX_BYTES = 80 };
const char *node_suffix(const struct node *node, char text[NODE_SUFFIX_BYTES]);

/* --- for worker.c --- */

enum { NODE_REASON_BYTES = 128 };

/* A worker on another machine. */
struct node_worker {
    struct node *node;
    uint32_t id;
    int64_t starved_ns; /* since its last request */
    bool stopped;       /* by a signal */
    bool leaving;       /* it is being killed */
    bool ended;
    bool killed; /* from outside */
    char reason[NODE_REASON_BYTES];
};

/* Starts it, with `descriptor` as the other end of its channel, which stays the caller's. Returns
 * NULL with ERROR_WORKER if the node is lost. */
struct node_worker *node_start_worker(struct node *node, int descriptor, const char *role,
                                      const char *argument, struct error *error);

/* As worker_starved_ns() and worker_is_stopped(), by what the node has said last. */
int64_t node_worker_starved_ns(struct node_worker *worker);
bool node_worker_is_stopped(const struct node_worker *worker);

void node_worker_kill(struct node_worker *worker);

/* Waits until it has ended; false if it has not within that time. */
bool node_worker_await_end(struct node_worker *worker, int timeout_ms);

/* Forgets it, whether it has ended or not; its node ends it when its channel closes. */
void node_worker_free(struct node_worker *worker);

#endif
