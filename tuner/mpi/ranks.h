/*
 * What a rank does, when all have greeted.
 *
 * Rank 0 is the hub: it starts the coordinator, an `autotune` as on one machine, and connects it with the agents.
 * The coordinator has a socket to the hub (base/node.h) and one for each worker on another machine. The workers of
 * this machine are its own business.
 *
 * The others are agents: an agent starts workers when the hub asks for them, and hands on what they and the
 * coordinator send each other.
 *
 * Both set `*orderly` if MPI can be ended together with all ranks.
 */
#ifndef AUTOTUNE_RANKS_H
#define AUTOTUNE_RANKS_H

#include "base/error.h"
#include "base/hash.h"
#include "mpi/peers.h"

#include <jansson.h>
#include <stdbool.h>
#include <time.h>

/* What comes before the bytes of a piece of a file. The date is a part of a large one's hash. */
struct piece {
    char name[HASH_BYTES];
    struct timespec dates[2]; /* as futimens() takes them */
};

/* `arguments` are the coordinator's, its program first; `greetings` those of all ranks (main.c). Returns the
 * coordinator's exit status, or ERROR_WORKER. */
int hub_run(struct peers *peers, char **arguments, json_t *greetings, bool *orderly,
            struct error *error);

/* Serves the hub until it ends the run or falls silent, or a signal says so. `program` is the autotune
 * to start. Returns 0 or an error. */
int agent_run(struct peers *peers, const char *program, bool *orderly, struct error *error);

#endif
