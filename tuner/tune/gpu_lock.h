/*
 * One run at a time on a GPU: two would spoil each other's times. The lock is an flock() on a file
 * that is named by the GPU's UUID, in a folder that all users share, whatever their cache. The
 * kernel drops the lock when the process ends, however it ends, so a file left behind does no harm.
 */
#ifndef AUTOTUNE_GPU_LOCK_H
#define AUTOTUNE_GPU_LOCK_H

#include "base/error.h"

#include <stdbool.h>

struct gpu_lock {
    int file;   /* open while the lock is held; -1 otherwise */
    char *path; /* of the file */
    long owner; /* process that holds it, as it has written; 0: not known */
};

/* $AUTOTUNE_LOCK_FOLDER; otherwise /run/lock if every user may write there, or /tmp. Free it. */
char *gpu_lock_folder(void);

/*
 * Tries to take the lock. Sets `*held`; if another process holds it, lock->owner says which. Returns
 * 0, or ERROR_RECORD if the file cannot be created or something else lies in its place (a link, a
 * pipe), which is left alone. Release the lock in every case.
 */
int gpu_lock_try(struct gpu_lock *lock, const char *uuid, bool *held, struct error *error);

/* Waits for it. Returns 0, ERROR_INTERRUPTED, or an error of gpu_lock_try(). */
int gpu_lock_wait(struct gpu_lock *lock, struct error *error);

void gpu_lock_release(struct gpu_lock *lock); /* removes the file if the lock was held */

#endif
