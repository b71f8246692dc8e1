/*
 * A node agent: the ranks other than 0. It starts workers when the hub (hub.h) asks for them, and
 * hands on what they and the coordinator send each other, with the files that this takes.
 */
#ifndef AUTOTUNE_AGENT_H
#define AUTOTUNE_AGENT_H

#include "base/error.h"
#include "mpi/peers.h"

/* Serves the hub until it ends the run, or falls silent. `program` is the autotune to start. Returns
 * 0 or an error, without which MPI can be ended in an orderly way. */
int agent_run(struct peers *peers, const char *program, struct error *error);

#endif
