/*
 * A second device worker that takes the place of the first when that is killed at its deadline. The
 * GPU goes on with the next variant as soon as the killed process is gone, without waiting for
 * another context (0.2 s), its buffers, inputs and references.
 *
 * It is started once a request that runs kernels is overdue: a quarter of its deadline has passed,
 * and twice the longest time that an answer has taken on this problem. A kernel that never ends
 * gives that much warning: at least 1.5 s are left of a deadline of 2 s. Until then there is no
 * second process that takes time or memory, and no neighbour on the GPU while anything is measured.
 * It fills its buffers beside the spinning kernel, with which the GPU shares its time.
 *
 * The overdue request may be merely slow. When its answer comes, the standby is stopped at once.
 * What was under way beside it (the answer and whatever was queued behind it) counts for nothing
 * and is asked for again: its samples may be too long, and the memory it missed may have been the
 * standby's. Each time the longest answer doubles, so this happens a few times in a problem at
 * most.
 *
 * It does not help against a kernel that faults, which gives no warning (gpu_successor.h).
 *
 * If the GPU has no memory for the problem's buffers twice, the standby has its context only, and
 * opens the problem when the killed process is gone.
 */
#ifndef AUTOTUNE_STANDBY_WORKER_H
#define AUTOTUNE_STANDBY_WORKER_H

#include "base/worker.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct standby_worker {
    struct worker worker; /* not running: there is none */
    bool opens;           /* it was asked to open the problem */
    double longest_s;     /* the longest time that an answer took, on this problem */
    size_t beside;        /* how many of the oldest requests under way a standby ran beside */
    bool gone;            /* one was stopped: processes on the GPU must be counted again */
};

/* After how long a request with this deadline is overdue; never if that is not less. */
double standby_worker_patience_s(const struct standby_worker *standby, double timeout_s);

/*
 * Starts it on the GPU that `which` says (gpu_worker_which()), beside `beside` requests under way. `open` is the request that opens the problem, NULL
 * if there is no memory for that; it is released. If no process can be started, there is none.
 */
void standby_worker_start(struct standby_worker *standby, struct node *node, const char *which,
                          json_t *open, size_t beside);

/* An answer has come after `took_s`: stops the standby, if there is one. Returns whether one ran
 * beside the request, whose results are then not to be used. */
bool standby_worker_settle(struct standby_worker *standby, double took_s);

/* Hands its process over. Nothing is left; requests that ran beside it died with the other one. */
struct worker standby_worker_take(struct standby_worker *standby);

/* Another problem, or the end: stops it and forgets everything. */
void standby_worker_clear(struct standby_worker *standby);

#endif
