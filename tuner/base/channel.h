/*
 * Messages between the coordinator and a worker: one JSON object a line, in both directions over
 * one file descriptor (or two, when a person runs a worker by hand).
 */
#ifndef AUTOTUNE_CHANNEL_H
#define AUTOTUNE_CHANNEL_H

#include "base/error.h"

#include <jansson.h>
#include <stddef.h>

struct channel {
    int in, out;  /* the same for a socket; -1 when closed */
    char *buffer; /* received, not yet taken */
    size_t used, capacity;
};

/* Takes the descriptors over. */
void channel_init(struct channel *channel, int in, int out);
void channel_release(struct channel *channel); /* closes them */

/*
 * Writes `message` as one line and releases it. Returns 0, or ERROR_WORKER where the other side is
 * gone. Never raises SIGPIPE on a socket.
 */
int channel_send(struct channel *channel, json_t *message, struct error *error);

/*
 * Reads what is there (blocking until there is something). Returns 1, 0 at the end of the stream,
 * or ERROR_WORKER. Then channel_next() gives the whole messages one after the other.
 */
int channel_fill(struct channel *channel, struct error *error);

/* The next whole message, a new reference, in `*message`: returns 1; 0 where there is none yet;
 * ERROR_WORKER for a line that is no JSON object or is longer than 64 MiB. */
int channel_next(struct channel *channel, json_t **message, struct error *error);

/* An error as a message, {"event":"error", …}, and back: message_error() returns the code of such a
 * message with `error` filled in, 0 for any other message. */
json_t *message_from_error(const struct error *error);
int message_error(const json_t *message, struct error *error);

/* Blocks for one message: 1, 0 at the end of the stream, or ERROR_WORKER. */
int channel_receive(struct channel *channel, json_t **message, struct error *error);

#endif
