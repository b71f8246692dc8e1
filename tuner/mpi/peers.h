/*
 * The ranks of an MPI job, and packets between them: in order from one rank to another, of any size,
 * and never waited for. This is the only module that calls MPI, from one thread.
 *
 * What is sent to a rank is a stream of bytes. One piece of it is under way at a time; what is added
 * meanwhile makes the next piece, so that many small packets become one MPI message. An empty piece, four times a
 * second, says that the process is alive. A rank that has died keeps its pieces, and holds nobody else up.
 *
 * Packets go between rank 0 and the others, which have nothing to say to each other.
 *
 * Calling sequence:
 *     status = peers_new(&peers, &argc, &argv, error);
 *     greetings = peers_greet(peers, greeting);
 *     peers_send(peers, 0, PACKET_DATA, worker, text, length);
 *     while (…) {
 *         moved = peers_move(peers);
 *         while (peers_receive(peers, &packet))
 *             …                                      the packet's bytes last until the next peers_move()
 *         peers_wait(peers, moved, NULL, 0);
 *     }
 *     peers_free(peers);
 */
#ifndef AUTOTUNE_PEERS_H
#define AUTOTUNE_PEERS_H

#include "base/error.h"

#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* README.md says what each holds. */
enum packet_kind {
    PACKET_START,
    PACKET_DATA,
    PACKET_KEEP,
    PACKET_KEPT,
    PACKET_KILL,
    PACKET_ENDED,
    PACKET_STATE,
    PACKET_FILE,
    PACKET_END,
    PACKET_BYE
};

struct packet {
    int rank; /* the sender */
    enum packet_kind kind;
    uint32_t id; /* of the worker, if it is about one */
    const char *bytes;
    size_t count;
};

struct peers;

/* Starts MPI. Returns 0, ERROR_WORKER, or ERROR_USAGE if the launcher has started several ranks of
 * which MPI knows one; ends the process, with a message, if the ranks have not all greeted within a
 * minute. */
int peers_new(struct peers **peers, int *argc, char ***argv, struct error *error);

/* What every rank says of itself: on rank 0 a new array in the order of ranks, elsewhere one of empty objects.
 * Drops the reference to `own`, whose text has less than 4 KiB. */
json_t *peers_greet(struct peers *peers, json_t *own);

/* Ends MPI, together with all ranks. */
void peers_free(struct peers *peers);

/* Ends the process, and if it is rank 0 the MPI job with it, because some ranks will not end by
 * themselves. */
void peers_abort(const struct peers *peers, int exit_status) __attribute__((noreturn));

int peers_rank(const struct peers *peers);
int peers_count(const struct peers *peers);
int peers_on_this_host(const struct peers *peers); /* this one included */

/* At most 2^31 bytes. */
void peers_send(struct peers *peers, int rank, enum packet_kind kind, uint32_t id,
                const void *bytes, size_t count);

/* Sends an object as one line and drops the reference to it. */
void peers_send_object(struct peers *peers, int rank, enum packet_kind kind, uint32_t id,
                       json_t *object);

/* Bytes that are still to be sent to a rank. */
size_t peers_unsent(const struct peers *peers, int rank);

/* Moves what can be moved without waiting; returns whether anything was. */
bool peers_move(struct peers *peers);

/* The next packet that has arrived; false if there is none. */
bool peers_receive(struct peers *peers, struct packet *packet);

/*
 * Sleeps between two looks at MPI, which has nothing that poll() could wait for: not at all if something was
 * `moved`, then longer and longer, up to a millisecond. Descriptors end the sleep at once.
 */
void peers_wait(struct peers *peers, bool moved, struct pollfd *descriptors, size_t count);

/* For how long nothing has been heard of a rank. The time in which this process did not call peers_move() itself,
 * because a signal had stopped it or the machine was busy, does not count. */
double peers_silence_s(const struct peers *peers, int rank);

/* Nothing is sent to that rank or received from it any more. */
void peers_forget(struct peers *peers, int rank);

#endif
