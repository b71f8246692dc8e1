/* What follows on a device worker that is lost, or that has to repair what a variant has damaged. */
#ifndef AUTOTUNE_GPU_SUCCESSOR_H
#define AUTOTUNE_GPU_SUCCESSOR_H

#include "base/error.h"
#include "tune/gpu_worker.h"

/*
 * Replaces a lost worker: the same problem is open and the same trials are queued afterwards. Other
 * requests under way are forgotten, since their variants are no longer loaded. Kills the worker
 * first, since its kernel may still be on the GPU. Errors as gpu_client_open().
 */
int gpu_worker_replace(struct gpu_worker *worker, struct error *error);

/*
 * The same of a worker that says that its kernel has faulted. Such a kernel is not on the GPU any
 * more, so the successor starts while the driver clears away the other one. No worker is made in
 * advance: while the driver finds out about a fault, nobody gets a context (tests/bench/README.md).
 */
int gpu_worker_replace_faulted(struct gpu_worker *worker, struct error *error);

/*
 * Waits for a worker that opens the problem anew because a variant wrote out of bounds; it has the
 * time that opening a problem has. A worker that fails is replaced.
 */
int gpu_worker_await_repair(struct gpu_worker *worker, struct error *error);

#endif
