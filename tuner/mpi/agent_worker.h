/* A worker of an agent, and what goes between it and the coordinator: requests once their files are
 * here, and replies. */
#ifndef AUTOTUNE_AGENT_WORKER_H
#define AUTOTUNE_AGENT_WORKER_H

#include "base/worker.h"
#include "mpi/bytes.h"
#include "mpi/mirror.h"
#include "mpi/peers.h"

#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

/* What all workers of an agent share. */
struct agent_post {
    struct peers *peers;
    struct worker_program program;
    struct mirror mirror;
    json_t *asked;   /* files that were asked for: an object, as a set */
    size_t arrivals; /* of files, so far */
    json_t
        *kept; /* what its workers are sent to keep: by hash, the message and the bytes behind it */
};

struct agent_worker {
    uint32_t id;
    struct worker process; /* its channel's buffer is not used */
    struct bytes requests; /* from the coordinator, not yet handed on */
    struct bytes unsent;   /* to the worker, moved */
    struct bytes replies;  /* from the worker, up to the end of a line */
    json_t *waiting;       /* a request whose files are not all here */
    size_t arrivals;       /* of files, when it was looked for them last */
    bool closed;           /* by the coordinator */
    bool ended;            /* its output has; it is to be reaped */
    bool stopped;          /* as last told */
    bool ready;            /* as poll() says */
    int64_t kill_ns;       /* when it is killed for not exiting */
};

/* Starts the worker of a PACKET_START. If that fails, tells the hub and returns NULL. */
struct agent_worker *agent_worker_new(const struct agent_post *post, const struct packet *packet);
void agent_worker_free(struct agent_worker *worker);

/* Moves what can be moved without waiting; returns whether anything was. Once the worker is gone and
 * the hub has been told, sets `*gone`. */
bool agent_worker_serve(const struct agent_post *post, struct agent_worker *worker, bool *gone);

/*
 * That file could not be written here: the request that waits for it, if there is one, is answered with the
 * error, because the worker would say that the file is missing. The answer may overtake those to earlier
 * requests. That does no harm: it ends the run, and what was under way is done again by the next one.
 */
void agent_worker_refuse(const struct agent_post *post, struct agent_worker *worker,
                         const char *path, const struct error *error);

/* Tells the hub if the worker is stopped, or waits for a processor. */
void agent_worker_report(const struct agent_post *post, struct agent_worker *worker);

/* What to wait for. */
struct pollfd agent_worker_events(const struct agent_worker *worker);

#endif
