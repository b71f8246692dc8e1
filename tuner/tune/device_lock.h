/*
 * One run at a time on a GPU: two would spoil each other's times. The lock is an flock() on a file
 * that is named by the GPU's UUID, in a folder that all users share, whatever their cache. The
 * kernel drops the lock when the process ends, however it ends, so a file left behind does no harm.
 */
#ifndef AUTOTUNE_DEVICE_LOCK_H
#define AUTOTUNE_DEVICE_LOCK_H

#include "base/channel.h"
#include "base/error.h"
#include "base/worker.h"

#include <stdbool.h>

struct device_lock {
    int file;   /* open while the lock is held; -1 otherwise */
    char *path; /* of the file */
    long owner; /* process that holds it, as it has written; 0: not known */
};

/* $AUTOTUNE_LOCK_FOLDER; otherwise /run/lock if every user may write there, or /tmp. Free it. */
char *device_lock_folder(void);

/*
 * Tries to take the lock. Sets `*held`; if another process holds it, lock->owner says which. Returns
 * 0, or ERROR_RECORD if the file cannot be created or something else lies in its place (a link, a
 * pipe), which is left alone. Release the lock in every case.
 */
int device_lock_try(struct device_lock *lock, const char *uuid, bool *held, struct error *error);

/* Waits for it. Returns 0, ERROR_INTERRUPTED, or an error of device_lock_try(). */
int device_lock_wait(struct device_lock *lock, struct error *error);

void device_lock_release(struct device_lock *lock); /* the file stays */

/*
 * The lock on a GPU of another machine, which a worker there holds as long as it runs:
 * `autotune worker lock UUID` says {"event":"busy","owner":PROCESS} if somebody else has the lock,
 * waits for it, and says {"event":"held"}.
 */

/* What the worker does, until the channel closes. */
int lock_worker_run(struct channel *channel, const char *uuid, struct error *error);

/* Starts one, which takes the lock if it can. Returns 0 or ERROR_WORKER. */
int lock_worker_begin(struct worker *worker, struct node *node, const char *uuid,
                      struct error *error);

/* Sets `*held`; if somebody else has the lock, `*owner` is the process, and a second call with `wait` waits until it
 * is held. Returns 0, ERROR_RECORD, ERROR_WORKER or ERROR_INTERRUPTED; the worker is then gone. */
int lock_worker_take(struct worker *worker, bool wait, bool *held, long *owner,
                     struct error *error);

#endif
