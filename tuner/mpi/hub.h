/*
 * Rank 0: it starts the coordinator, an `autotune` as on one machine, and connects it with the
 * agents of the other ranks. The coordinator has a socket to the hub (base/node.h) and one for each
 * worker on another machine. The workers of this machine are its own business.
 */
#ifndef AUTOTUNE_HUB_H
#define AUTOTUNE_HUB_H

#include "base/error.h"
#include "mpi/peers.h"

#include <stdbool.h>

struct hub_start {
    const char *program;  /* the autotune to start */
    char **arguments;     /* its arguments, ended by NULL */
    const char *greeting; /* this rank's: main.c */
};

/* Returns the coordinator's exit status, or ERROR_WORKER. Sets `*orderly` if all agents have ended, so
 * that MPI can be. */
int hub_run(struct peers *peers, const struct hub_start *start, bool *orderly, struct error *error);

#endif
