/*
 * The device worker's process as the coordinator holds it: how it is started, greeted, opened a
 * problem with, waited for and replaced. gpu_client.c's calls about variants rest on it.
 */
#ifndef AUTOTUNE_GPU_WORKER_H
#define AUTOTUNE_GPU_WORKER_H

#include "base/error.h"
#include "base/event_loop.h"
#include "base/worker.h"
#include "record/gpu.h"
#include "tune/gpu_problem.h"
#include "tune/hang_recovery.h"
#include "tune/standby_worker.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu_worker {
    struct event_loop *loop;
    struct worker process;
    char ordinal[16];
    bool greeted;
    struct gpu gpu;
    struct gpu_problem problem; /* the one that is open, to open it again */
    json_t *trials[GPU_TRIALS]; /* sent and not answered, the oldest first */
    size_t trial_count;
    unsigned losses;     /* workers that died or were killed so far */
    bool killed;         /* the last of them was killed from outside */
    int64_t deadline_ns; /* of the last reply waited for */
    double took_s;       /* the wait for it */
    struct standby_worker standby;
    bool roomy; /* the GPU has room for the open problem twice */
    struct hang_recovery hangs;
};

/* Starts the process. Returns 0 or ERROR_WORKER. */
int gpu_worker_init(struct gpu_worker *worker, int ordinal, struct event_loop *loop,
                    struct error *error);
void gpu_worker_release(struct gpu_worker *worker);

/* Waits for the greeting, which fills worker->gpu. Returns 0, ERROR_DEVICE or ERROR_WORKER. */
int gpu_worker_greet(struct gpu_worker *worker, struct error *error);

/* Opens worker->problem; `*empty_ns` (NULL: not wanted) is the median time of an empty kernel. A
 * worker that dies of it gets one successor. Errors as gpu_client_open(). */
int gpu_worker_open(struct gpu_worker *worker, double *empty_ns, struct error *error);

/* Forgets the requests under way and stops the standby: another problem follows. */
void gpu_worker_clear(struct gpu_worker *worker);

/* Kills the process. Returns 0, or ERROR_DEVICE if the driver keeps it. */
int gpu_worker_kill(struct gpu_worker *worker, struct error *error);

/*
 * The worker's next message: returns 1 with it; 0 with a NULL message and the `reason` if the worker
 * died, sent what is not a message or passed the deadline, and is gone; or an error. After
 * `patience_s` (0: never) a standby is started.
 */
int gpu_worker_receive(struct gpu_worker *worker, double timeout_s, double patience_s,
                       json_t **message, bool *timed_out, char reason[WORKER_REASON_BYTES],
                       struct error *error);

/* Whether the message is this event: 0, the error that it is, or ERROR_WORKER. */
int gpu_worker_expect(const json_t *message, const char *event, struct error *error);

/*
 * A worker that is lost is replaced at once, with the same problem open and the same trials queued.
 * Not before its end: until then its kernel may still be on the GPU.
 */
int gpu_worker_replace(struct gpu_worker *worker, struct error *error);

/*
 * Waits for a worker that opens the problem anew because a variant wrote where it must not. The time
 * for that is a problem's, not the next variant's. One that fails to is replaced.
 */
int gpu_worker_await_repair(struct gpu_worker *worker, struct error *error);

#endif
