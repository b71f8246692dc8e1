/*
 * One run at a time on a GPU: two would time each other. The lock is an flock() on a file named by
 * the GPU's UUID in the cache folder, so that the kernel takes it back when the process ends,
 * however it ends. Runs with different cache folders do not see each other.
 */
#ifndef AUTOTUNE_GPU_LOCK_H
#define AUTOTUNE_GPU_LOCK_H

#include "base/error.h"

#include <stdbool.h>

struct gpu_lock {
    int file;   /* open while the lock is wanted or held; -1 otherwise */
    long owner; /* process that holds it, as it has written; 0: not known */
};

/*
 * Tries to take the lock. `*held` says whether it succeeded; if not, lock->owner holds it. Returns 0,
 * or ERROR_RECORD if the file cannot be created. On a file system without locks it always succeeds.
 */
int gpu_lock_try(struct gpu_lock *lock, const char *folder, const char *uuid, bool *held,
                 struct error *error);

/* Waits for it. Returns 0 or ERROR_INTERRUPTED. */
int gpu_lock_wait(struct gpu_lock *lock, struct error *error);

void gpu_lock_release(struct gpu_lock *lock); /* also of one that was not taken */

#endif
