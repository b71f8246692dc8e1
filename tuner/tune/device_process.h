/*
 * The device worker's process as the coordinator sees it: starting it, opening a problem, waiting
 * for a message, replacing it. device_client.c builds the calls about variants on this.
 */
#ifndef AUTOTUNE_DEVICE_PROCESS_H
#define AUTOTUNE_DEVICE_PROCESS_H

#include "base/error.h"
#include "base/event_loop.h"
#include "base/worker.h"
#include "record/gpu.h"
#include "template/value.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Requests about variants that may be under way at once: one that runs, one that is loaded meanwhile, and
 * one that follows before the coordinator has stored the first one's result. */
enum { DEVICE_TRIALS = 3 };

struct template;

/* What a problem is opened with on the GPU: the request that every new device worker gets again. Strings
 * and bindings are borrowed until another problem is opened. */
struct opened_problem {
    const struct template *template;
    const json_t *data; /* the files of its fills, with their hashes: fill_list_files() */
    const struct bindings *values;
    const char *support_cubin;   /* cache entry of device_kernels.cu */
    const char *reference_cubin; /* NULL if no helper needs it */
    bool cold;                   /* empty the L2 cache before each sample */
    double launch_timeout_s;
    bool shared; /* other GPUs have it open, too, and go on if this one cannot open it again soon */
};

enum {
    DEVICE_READY_TIMEOUT_S = 60,
    DEVICE_OPEN_TIMEOUT_S = 120, /* references are slow by design */
};

struct device_process {
    struct event_loop *loop;
    struct worker process;
    struct node *node;
    char ordinal[16]; /* of the node's GPUs */
    bool greeted;
    struct gpu gpu;
    struct opened_problem problem;   /* the one that is open, to open it again */
    int64_t opening_ns;              /* when it was asked to open it; 0: it is not doing that */
    double opened_s;                 /* how long that took the first time; 0: not known */
    json_t *requests[DEVICE_TRIALS]; /* about variants, sent and not answered, the oldest first */
    size_t request_count;
    unsigned losses;     /* workers that died or were killed so far */
    bool killed;         /* the last of them was killed from outside */
    int64_t deadline_ns; /* of the reply that is waited for */
};

/* Starts the process on that node (NULL: here). Returns 0 or ERROR_WORKER. */
int device_process_init(struct device_process *worker, struct node *node, int ordinal,
                        struct event_loop *loop, struct error *error);
void device_process_release(struct device_process *worker);

/* Waits for the greeting, which fills worker->gpu. A worker that is lost before has two successors.
 * Returns 0, ERROR_DEVICE or ERROR_WORKER. */
int device_process_greet(struct device_process *worker, struct error *error);

/* How long a worker may take to open worker->problem: much less if it was open before, and other GPUs
 * have it open. */
double device_process_open_timeout_s(const struct device_process *worker);

/* Asks for worker->problem to be opened, if the worker has greeted. device_process_open() goes on. */
void device_process_open_begin(struct device_process *worker);

/* Opens worker->problem; `*empty_ns` (NULL: not wanted) is the median time of an empty kernel. A
 * worker that dies of it gets one successor. Errors as device_client_open(). */
int device_process_open(struct device_process *worker, double *empty_ns, struct error *error);

/* Forgets the requests under way: another problem follows. */
void device_process_clear(struct device_process *worker);

/* Kills the process, whatever it is doing; the next device_process_greet() starts another. Returns 0, or
 * ERROR_DEVICE if the driver keeps it. */
int device_process_restart(struct device_process *worker, struct error *error);

/* Sends a request, which stays the caller's, with its cubin: there, "cubin" is the path of a cache entry. If
 * the worker is gone, its reply shows that. */
void device_process_ask(struct device_process *worker, json_t *request);

/* Kills the process. Returns 0, or ERROR_DEVICE if the driver keeps it. */
int device_process_kill(struct device_process *worker, struct error *error);

/*
 * Replaces a lost worker: the same problem is open and the same trials are queued afterwards. Other
 * requests under way are forgotten, since their variants are no longer loaded. Kills the worker
 * first, since its kernel may still be on the GPU. Errors as device_client_open().
 */
int device_process_replace(struct device_process *worker, struct error *error);

/*
 * Waits for a worker that opens the problem anew because a variant wrote out of bounds; it has the
 * time that opening a problem has. A worker that fails is replaced.
 */
int device_process_await_repair(struct device_process *worker, struct error *error);

/*
 * The worker's next message: returns 1 with it; 0 with a NULL message and the `reason` if the
 * worker died, sent what is not a message or passed the deadline, and is gone; or an error.
 */
int device_process_receive(struct device_process *worker, double timeout_s, json_t **message,
                           bool *timed_out, char reason[WORKER_REASON_BYTES], struct error *error);

/* Returns 0 if the message is this event, else the error that it is, or ERROR_WORKER. */
int device_process_expect(const json_t *message, const char *event, struct error *error);

#endif
