/*
 * A worker process, seen from the coordinator: this same executable started again as `autotune
 * worker …`, with a socket as its standard input and output. It is killed rather than asked, and it
 * dies with the coordinator.
 */
#ifndef AUTOTUNE_WORKER_H
#define AUTOTUNE_WORKER_H

#include "base/channel.h"
#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct worker {
    pid_t pid; /* 0: not running */
    struct channel channel;
};

/* Starts `autotune worker ROLE [ARGUMENT]`. Returns 0 or ERROR_WORKER. */
int worker_start(struct worker *worker, const char *role, const char *argument,
                 struct error *error);

/*
 * Kills it, if it runs, waits for its end and closes the channel. False where half a minute later it
 * is still there, since a driver holds it: it is left to that.
 */
bool worker_stop(struct worker *worker);

/*
 * The same for one that has nothing to do. Built with the address sanitizer, which looks for leaks
 * when a process ends by itself, it lets it end.
 */
void worker_end(struct worker *worker);

/*
 * For a worker whose channel has ended: waits for it and says how it ended in `reason`, "was killed
 * by signal 11 (Segmentation fault)". One that does not end within two seconds is killed. Returns
 * whether it was killed from outside (SIGKILL, which no kernel and no compiler raises: a person,
 * or the system for lack of memory), so that what it was doing deserves another try.
 */
enum { WORKER_REASON_BYTES = 128 };
bool worker_bury(struct worker *worker, char reason[WORKER_REASON_BYTES]);

/*
 * Seconds that a worker has to start, to prepare a problem or to load a variant: `usual_s`, or
 * $AUTOTUNE_WORKER_TIMEOUT_S, for machines on which that is too short and for tests.
 */
double worker_timeout_s(double usual_s);

/* In the worker: dies when the coordinator does, leaves Ctrl-C to it. */
void worker_enter(void);

#endif
