/*
 * The lock on a GPU of another machine, which a worker there holds as long as it runs:
 * `autotune worker lock UUID` says {"event":"busy","owner":PROCESS} if somebody else has the lock,
 * waits for it, and says {"event":"held"}.
 */
#ifndef AUTOTUNE_LOCK_WORKER_H
#define AUTOTUNE_LOCK_WORKER_H

#include "base/channel.h"
#include "base/error.h"
#include "base/worker.h"

#include <stdbool.h>

/* What the worker does, until the channel closes. */
int lock_worker_run(struct channel *channel, const char *uuid, struct error *error);

/* Starts one, which takes the lock if it can. Returns 0 or ERROR_WORKER. */
int lock_worker_begin(struct worker *worker, struct node *node, const char *uuid,
                      struct error *error);

/* Sets `*held`; if somebody else has the lock, `*owner` is the process. Returns 0, ERROR_RECORD,
 * ERROR_WORKER or ERROR_INTERRUPTED; the worker is then gone. */
int lock_worker_take(struct worker *worker, bool *held, long *owner, struct error *error);

/* Waits until it has the lock. Returns 0 or an error of lock_worker_take(); with one, the worker is
 * gone. */
int lock_worker_wait(struct worker *worker, struct error *error);

#endif
