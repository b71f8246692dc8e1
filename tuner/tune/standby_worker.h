/*
 * A second device worker that waits to take the place of the first when that is killed at its
 * deadline, so that the GPU goes on with the next variant as soon as the killed process is gone,
 * without waiting for another context (0.2 s), its buffers, inputs and references.
 *
 * When it is started: once a request that runs kernels is overdue, that is a quarter of its deadline
 * has passed, and twice the longest that an answer has taken on this problem. A kernel that never
 * ends gives that much warning: at least 1.5 s are left of a deadline of 2 s. Until then there is no
 * second process: it takes no time from the first result, no memory from the variants, and no
 * neighbour is on the GPU while anything is measured. It fills its buffers beside the spinning
 * kernel, with which the GPU shares its time.
 *
 * What is overdue may be merely slow. Then the standby is stopped at once, and what was under way
 * beside it (the answer and whatever was queued behind it) counts for nothing, since its samples may
 * be too long and the memory it missed may have been the standby's: it is asked for again. The longest
 * answer doubles each time, so that this happens a few times in a problem at most.
 *
 * What it does not help against: a kernel that faults gives no warning. Its successor is started
 * then, and is ready as late as ever. A standby that is made beforehand would have to be made while
 * nothing is measured, which costs the same time once more.
 *
 * Where there is not room for the problem's buffers twice, the standby has its context only, and opens
 * the problem when the killed process is gone.
 */
#ifndef AUTOTUNE_STANDBY_WORKER_H
#define AUTOTUNE_STANDBY_WORKER_H

#include "base/worker.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct standby_worker {
    struct worker worker; /* pid 0: there is none */
    bool opens;           /* it has been asked to open the problem */
    double longest_s;     /* that an answer took, on this problem */
    size_t beside;        /* requests under way that a standby ran beside, the oldest first */
    bool gone;            /* one was stopped: whoever counted processes since must count again */
};

/* After how long a request with this deadline is overdue; never where that is not below it. */
double standby_worker_patience_s(const struct standby_worker *standby, double timeout_s);

/*
 * Starts it beside `beside` requests under way; `open` is the request that opens the problem, NULL
 * where there is no room for it, and is released. Where no process can be started there is none.
 */
void standby_worker_start(struct standby_worker *standby, const char *ordinal, json_t *open,
                          size_t beside);

/* An answer has come after `took_s`: stops the standby, if there is one. Returns whether one ran
 * beside the request, whose results are then not to be used. */
bool standby_worker_settle(struct standby_worker *standby, double took_s);

/* Hands its process over. Nothing is left; requests that ran beside it died with the other one. */
struct worker standby_worker_take(struct standby_worker *standby);

/* Another problem, or the end: stops it and forgets everything. */
void standby_worker_clear(struct standby_worker *standby);

#endif
