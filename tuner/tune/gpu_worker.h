/*
 * The device worker's process as the coordinator sees it: starting it, opening a problem, waiting
 * for a message, replacing it. gpu_client.c builds the calls about variants on this.
 */
#ifndef AUTOTUNE_GPU_WORKER_H
#define AUTOTUNE_GPU_WORKER_H

#include "base/error.h"
#include "base/event_loop.h"
#include "base/worker.h"
#include "record/gpu.h"
#include "tune/gpu_problem.h"
#include "tune/gpu_request.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GPU_READY_TIMEOUT_S = 60,
    GPU_OPEN_TIMEOUT_S = 120, /* references are slow by design */
};

struct gpu_worker {
    struct event_loop *loop;
    struct worker process;
    struct node *node;
    char ordinal[16]; /* of the node's GPUs */
    bool greeted;
    struct gpu gpu;
    struct gpu_problem problem; /* the one that is open, to open it again */
    int64_t opening_ns;         /* when it was asked to open it; 0: it is not doing that */
    double opened_s;            /* how long that took the first time; 0: not known */
    struct gpu_request
        requests[GPU_TRIALS]; /* about variants, sent and not answered, the oldest first */
    size_t request_count;
    unsigned losses;     /* workers that died or were killed so far */
    bool killed;         /* the last of them was killed from outside */
    int64_t deadline_ns; /* of the reply that is waited for */
};

/* Starts the process on that node (NULL: here). Returns 0 or ERROR_WORKER. */
int gpu_worker_init(struct gpu_worker *worker, struct node *node, int ordinal,
                    struct event_loop *loop, struct error *error);
void gpu_worker_release(struct gpu_worker *worker);

/* Waits for the greeting, which fills worker->gpu. A worker that is lost before has two successors.
 * Returns 0, ERROR_DEVICE or ERROR_WORKER. */
int gpu_worker_greet(struct gpu_worker *worker, struct error *error);

/* How long a worker may take to open worker->problem: much less if it was open before, and other GPUs
 * have it open. */
double gpu_worker_open_timeout_s(const struct gpu_worker *worker);

/* Asks for worker->problem to be opened, if the worker has greeted. gpu_worker_open() goes on. */
void gpu_worker_open_begin(struct gpu_worker *worker);

/* Opens worker->problem; `*empty_ns` (NULL: not wanted) is the median time of an empty kernel. A
 * worker that dies of it gets one successor. Errors as gpu_client_open(). */
int gpu_worker_open(struct gpu_worker *worker, double *empty_ns, struct error *error);

/* Forgets the requests under way: another problem follows. */
void gpu_worker_clear(struct gpu_worker *worker);

/* Kills the process, whatever it is doing; the next gpu_worker_greet() starts another. Returns 0, or
 * ERROR_DEVICE if the driver keeps it. */
int gpu_worker_restart(struct gpu_worker *worker, struct error *error);

/* Sends a request and releases it. If the worker is gone, its reply shows that. */
void gpu_worker_send(struct gpu_worker *worker, json_t *request);

/* The same of a request about a variant, which stays the caller's. */
void gpu_worker_ask(struct gpu_worker *worker, const struct gpu_request *request);

/* Kills the process. Returns 0, or ERROR_DEVICE if the driver keeps it. */
int gpu_worker_kill(struct gpu_worker *worker, struct error *error);

/*
 * Replaces a lost worker: the same problem is open and the same trials are queued afterwards. Other
 * requests under way are forgotten, since their variants are no longer loaded. Kills the worker
 * first, since its kernel may still be on the GPU. Errors as gpu_client_open().
 */
int gpu_worker_replace(struct gpu_worker *worker, struct error *error);

/*
 * Waits for a worker that opens the problem anew because a variant wrote out of bounds; it has the
 * time that opening a problem has. A worker that fails is replaced.
 */
int gpu_worker_await_repair(struct gpu_worker *worker, struct error *error);

/*
 * The worker's next message: returns 1 with it; 0 with a NULL message and the `reason` if the
 * worker died, sent what is not a message or passed the deadline, and is gone; or an error.
 */
int gpu_worker_receive(struct gpu_worker *worker, double timeout_s, json_t **message,
                       bool *timed_out, char reason[WORKER_REASON_BYTES], struct error *error);

/* Returns 0 if the message is this event, else the error that it is, or ERROR_WORKER. */
int gpu_worker_expect(const json_t *message, const char *event, struct error *error);

#endif
