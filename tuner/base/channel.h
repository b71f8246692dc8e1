/*
 * Messages between the coordinator and a worker: one JSON object per line, in both directions over
 * one file descriptor (or two, if a person runs the worker by hand). The text of a member "figures"
 * follows the object, after a tab: JSON would read and write it letter by letter (base/figures.h).
 */
#ifndef AUTOTUNE_CHANNEL_H
#define AUTOTUNE_CHANNEL_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct channel {
    int in, out;  /* equal for a socket; -1: closed */
    char *buffer; /* received but not yet parsed */
    size_t used, capacity;
};

/* Takes ownership of the descriptors; channel_release() closes them. */
void channel_init(struct channel *channel, int in, int out);
void channel_release(struct channel *channel);

/*
 * Writes `message` as one line and drops the reference to it. Returns 0, or ERROR_WORKER with
 * errno, such as EPIPE if the other side has closed. Never raises SIGPIPE on a socket.
 */
int channel_send(struct channel *channel, json_t *message, struct error *error);

/* The line that channel_send() would write, a new string; drops the reference to the message. NULL: its
 * text is not UTF-8. */
char *channel_line(json_t *message);

/* Writes bytes that end with a newline: messages as text. Otherwise as channel_send(). */
int channel_write(const struct channel *channel, const char *bytes, size_t count,
                  struct error *error);

/*
 * Reads the available bytes; blocks if there are none. Returns 1, 0 at the end of the stream, or
 * ERROR_WORKER. Then call channel_next() for the complete messages.
 */
int channel_fill(struct channel *channel, struct error *error);

/* Takes the next message that has arrived completely. Returns 1 with a new reference in `*message`,
 * 0 if there is none yet, or ERROR_WORKER for a line that is not a JSON object or is longer than
 * 64 MiB. */
int channel_next(struct channel *channel, json_t **message, struct error *error);

/* Convert an error to a message, {"event":"error",…}, and back. message_error() fills `error` and
 * returns its code, or returns 0 if the message is not an error. */
json_t *message_from_error(const struct error *error);
int message_error(const json_t *message, struct error *error);

/* Waits for one message. Returns 1, 0 at the end of the stream, or ERROR_WORKER. */
int channel_receive(struct channel *channel, json_t **message, struct error *error);

/* The same, but returns ERROR_INTERRUPTED if the user wants to end, and 0 with `*late` set if no message
 * has come by `until_ns` on clock_ns(). In all other cases `*late` is false. */
int channel_receive_until(struct channel *channel, int64_t until_ns, bool *late, json_t **message,
                          struct error *error);

#endif
