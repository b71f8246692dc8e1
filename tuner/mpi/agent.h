/*
 * A node agent: the ranks other than 0. It starts workers when the hub (hub.h) asks for them, and
 * hands on what they and the coordinator send each other, with the files that this takes.
 */
#ifndef AUTOTUNE_AGENT_H
#define AUTOTUNE_AGENT_H

#include "base/error.h"
#include "mpi/peers.h"

/* Serves the hub until it ends the run or falls silent, or a signal says so. `program` is the autotune
 * to start. Sets `*orderly` if MPI can be ended together with all ranks. Returns 0 or an error. */
int agent_run(struct peers *peers, const char *program, bool *orderly, struct error *error);

#endif
