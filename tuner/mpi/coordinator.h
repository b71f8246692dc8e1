/* The coordinator's process and the socket to it, for the hub. Signals to the hub that end a run are
 * handed on to it. */
#ifndef AUTOTUNE_COORDINATOR_H
#define AUTOTUNE_COORDINATOR_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct coordinator {
    pid_t pid; /* 0: it has ended */
    int socket;
    int status;     /* as of waitpid() */
    char **packets; /* to be sent to it */
    size_t packet_count;
};

/* Starts `program` with those arguments and $AUTOTUNE_NODES. Returns 0 or ERROR_WORKER. */
int coordinator_start(struct coordinator *coordinator, const char *program, char **arguments,
                      struct error *error);

/* Whether it has; then coordinator_exit_status() says with which status, as a shell would. */
bool coordinator_has_ended(struct coordinator *coordinator);
int coordinator_exit_status(const struct coordinator *coordinator);

/* Sends a packet, or keeps it until coordinator_flush() can. Drops the reference. */
void coordinator_tell(struct coordinator *coordinator, json_t *packet);
bool coordinator_flush(struct coordinator *coordinator);

/* The next packet, a new reference, with the descriptor that came with it or -1; NULL if there is
 * none. */
json_t *coordinator_receive(struct coordinator *coordinator, int *descriptor);

#endif
