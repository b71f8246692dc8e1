/*
 * A worker process, as the coordinator sees it: another instance of this executable, started as
 * `autotune worker …` with a socket as its standard input and output. The coordinator stops it by
 * killing it; it also dies with the coordinator.
 *
 * In a cluster, a worker may run on another machine (node.h): then its node does all this.
 */
#ifndef AUTOTUNE_WORKER_H
#define AUTOTUNE_WORKER_H

#include "base/channel.h"
#include "base/error.h"
#include "base/node.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct worker {
    pid_t pid; /* of a process of this machine; 0: it is not running, or not here */
    struct node_worker *remote; /* on another one; NULL: it is not running, or it is here */
    struct channel channel;
    int64_t starved_ns; /* worker_starved_ns() so far */
};

/* What is started, and in which folder. Zeroed: this executable, in this folder. */
struct worker_program {
    const char *path;
    const char *folder;
};

/* Starts `autotune worker ROLE [ARGUMENT]` on that node; NULL: here. Returns 0 or ERROR_WORKER. */
int worker_start(struct worker *worker, struct node *node, const char *role, const char *argument,
                 struct error *error);

/* The same here, with another program than this one. */
int worker_start_program(struct worker *worker, const struct worker_program *program,
                         const char *role, const char *argument, struct error *error);

bool worker_is_running(const struct worker *worker);

/*
 * How long the worker wanted to run but had to wait for a processor, since the last call. Add
 * it to the deadline, so that a worker has as much time on a busy machine as on an idle one.
 */
#define WORKER_STARVED_NS 10000000 /* less is not worth it */
int64_t worker_starved_ns(struct worker *worker);

/*
 * Whether the worker is stopped (SIGSTOP, a debugger): then it is not at fault if it misses a
 * deadline. worker_was_asleep(): the same if the caller itself noticed the deadline this late,
 * since what stopped the caller has probably stopped the worker, too. A worker of a machine that is
 * silent counts as stopped.
 */
bool worker_is_stopped(const struct worker *worker);
bool worker_was_asleep(int64_t deadline_ns);

/*
 * Kills the worker and its child processes if it is running, waits for it to exit and closes the
 * channel. Gives up after half a minute and returns false: the driver keeps the worker from exiting.
 */
bool worker_stop(struct worker *worker);

/* The same without waiting, for a worker of another machine. */
void worker_dismiss(struct worker *worker);

/* Sends a request, which it takes over, with `count` bytes behind it. A worker that cannot be sent one, as
 * when the kernel has no memory for it, is killed, and counts as killed from outside: it would never
 * answer. One that does not read is left to its deadline. worker_keep(): as channel_keep(). */
void worker_send(struct worker *worker, json_t *request, const void *bytes, size_t count);
void worker_keep(struct worker *worker, const char *hash, const void *bytes, size_t count);

/* Sends the machine of a worker that is not here a file, unless it has that: a copy of `descriptor`, which is in the
 * worker's folder under that name before the next request. If the machine cannot write it, requests are
 * answered with that error. */
void worker_send_file(struct worker *worker, const char *name, int descriptor);

/* Sends the signal that kills the worker and its child processes; worker_stop() then waits. */
void worker_kill(const struct worker *worker);

/* Whether a worker that was killed is gone; then its channel is closed, too. Does not wait. */
bool worker_has_ended(struct worker *worker);

/*
 * The same for an idle worker. Built with the address sanitizer, it lets the worker exit by itself,
 * because the sanitizer checks for leaks at exit.
 */
void worker_end(struct worker *worker);

/* Begins what worker_end() completes, so that several workers end at the same time, or one while the
 * caller does something else. */
void worker_end_begin(const struct worker *worker);

/*
 * Call when the worker's channel has closed: waits for the worker to exit, and kills it after two
 * seconds. `reason` says how it ended: "was killed by signal 11 (Segmentation fault)". Returns true
 * if it was killed from outside: by a person, by a scheduler, or by the system when memory ran out.
 * Its last request then deserves another try, WORKER_KILL_LIMIT in all.
 */
enum { WORKER_REASON_BYTES = 128, WORKER_KILL_LIMIT = 3 };
bool worker_reap(struct worker *worker, char reason[WORKER_REASON_BYTES]);

/* The same without waiting, for a worker of this machine: false if it has not exited. From when it is
 * `late`, it is killed. */
bool worker_try_reap(struct worker *worker, bool late, char reason[WORKER_REASON_BYTES],
                     bool *killed);

/*
 * Seconds that a worker may take to start, to open a problem or to load a variant:
 * $AUTOTUNE_WORKER_TIMEOUT_S if that is set (for slow machines and tests), otherwise `usual_s`.
 */
double worker_timeout_s(double usual_s);

/* Returns 0, or ERROR_USAGE if the variable is not such a number, which is not used then. */
int worker_check_timeout(struct error *error);

/*
 * Called by the worker: makes it die with the coordinator, and ignore SIGINT, SIGTERM and SIGHUP,
 * which are for the coordinator. A signal such as SIGSEGV that another process sends kills it as
 * SIGKILL would, so that worker_reap() can tell it from a fault of its own. The same if it runs out of
 * memory (alloc.h), unless it `limits_memory` itself: then that is the fault of what it does.
 */
void worker_enter(bool limits_memory);

/* Called by a worker that cannot go on, for a reason that is not the fault of what it does: prints the
 * error, and ends as if it had been killed from outside. */
_Noreturn void worker_give_up(const struct error *error);

#endif
