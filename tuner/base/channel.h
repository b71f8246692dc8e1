/*
 * Messages between the coordinator and a worker: one JSON object per line, in both directions over
 * one file descriptor (or two, if a person runs the worker by hand). Behind the line of an object
 * with the member "bytes" follow so many bytes, which belong to it: a cubin, for example.
 *
 * What several messages need, such as a header, is sent once: {"keep":HASH,"bytes":N} and N bytes,
 * which the receiver keeps under that name for the messages that follow.
 *
 * Over a socket, a message can come with a descriptor. Only autotune-mpi is sent any: the socket of a worker
 * on another machine, and files for that machine.
 */
#ifndef AUTOTUNE_CHANNEL_H
#define AUTOTUNE_CHANNEL_H

#include "base/error.h"
#include "base/hash.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What was sent or received to be kept. */
struct channel_kept {
    char hash[HASH_BYTES];
    char *bytes; /* with a null character behind them; NULL on the side that has sent them */
    size_t count;
};

struct channel {
    int in, out;  /* equal for a socket; -1: closed */
    char *buffer; /* received but not yet taken */
    size_t used, capacity;
    size_t taken;    /* of the buffer, by the latest message */
    json_t *pending; /* the next message, whose bytes have not all come; NULL: none */
    size_t line;     /* the length of its line */
    struct channel_kept *kept, *sent;
    size_t kept_count, sent_count;
    int *descriptors; /* received but not yet taken */
    size_t descriptor_count;
    char *bytes; /* of the latest message, until the next one is asked for; may be overwritten */
    size_t byte_count;
};

/* Takes ownership of the descriptors; channel_release() closes them. */
void channel_init(struct channel *channel, int in, int out);
void channel_release(struct channel *channel);

/*
 * Writes `message` as one line and drops the reference to it. Returns 0, or ERROR_WORKER with
 * errno, such as EPIPE if the other side has closed. Never raises SIGPIPE on a socket.
 */
int channel_send(struct channel *channel, json_t *message, struct error *error);

/* The same with `count` bytes behind it. */
int channel_send_bytes(struct channel *channel, json_t *message, const void *bytes, size_t count,
                       struct error *error);

/* The same with a copy of a descriptor, over a socket. */
int channel_send_descriptor(struct channel *channel, json_t *message, int descriptor,
                            struct error *error);

/* Sends what the other side is to keep, unless it has. */
int channel_keep(struct channel *channel, const char *hash, const void *bytes, size_t count,
                 struct error *error);

/* What the other side has sent to be kept; NULL: nothing with that hash. */
const struct channel_kept *channel_find(const struct channel *channel, const char *hash);

/*
 * Reads the available bytes; blocks if there are none. Returns 1, 0 at the end of the stream, or
 * ERROR_WORKER. Then call channel_next() for the complete messages.
 */
int channel_fill(struct channel *channel, struct error *error);

/* The same over a socket, without blocking: 1 if there are none, too. Keeps the descriptors that come with them. */
int channel_fill_now(struct channel *channel, struct error *error);

/* The first descriptor that has come and was not taken, which the caller then owns; -1: none. */
int channel_descriptor(struct channel *channel);

/* Takes the next message that has arrived completely, and sets channel->bytes. Returns 1 with a new
 * reference in `*message`, 0 if there is none yet, or ERROR_WORKER for a line that is not a JSON
 * object or is longer than 64 MiB, or more than 512 MiB behind it. */
int channel_next(struct channel *channel, json_t **message, struct error *error);

/* The same for who hands messages on: what is to be kept is a message, too. channel->buffer has the whole message,
 * channel->taken bytes long, until the next one is asked for. */
int channel_next_whole(struct channel *channel, json_t **message, struct error *error);

/* Convert an error to a message, {"event":"error",…}, and back. message_error() fills `error` and
 * returns its code, or returns 0 if the message is not an error. */
json_t *message_from_error(const struct error *error);
int message_error(const json_t *message, struct error *error);

/* Waits for one message. Returns 1, 0 at the end of the stream, ERROR_WORKER, or ERROR_INTERRUPTED if the
 * user wants to end. */
int channel_receive(struct channel *channel, json_t **message, struct error *error);

/* The same; 0 with `*late` set if no message has come by `until_ns` on clock_ns(). In all other cases
 * `*late` is false. */
int channel_receive_until(struct channel *channel, int64_t until_ns, bool *late, json_t **message,
                          struct error *error);

#endif
