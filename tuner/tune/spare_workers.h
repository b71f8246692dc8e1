/*
 * Device workers that stand in for one whose kernel faults. A fault takes the CUDA context with it,
 * and gives no warning as a hang does (standby_worker.h): a successor that is started then needs a
 * context (0.2 s), buffers and expected results before the next variant can run. Variants that
 * fault often come together. So after two faults, spares are started beside what runs; as the next
 * variant probably faults, too, that disturbs nothing. A lost worker is then killed without waiting
 * for its end.
 *
 * What was measured while a spare started or ended is measured again. A spare that is ready does
 * nothing, and takes only memory. Each fault uses one up. If variants stop faulting, the spares are
 * stopped after a while.
 */
#ifndef AUTOTUNE_SPARE_WORKERS_H
#define AUTOTUNE_SPARE_WORKERS_H

#include "base/error.h"
#include "base/event_loop.h"
#include "base/worker.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Starting one takes twice as long as a fault takes to show. */
enum { SPARE_WORKERS = 3, SPARE_LEAVING = 4 };

struct spare_worker {
    struct worker worker;
    bool opens;      /* it was asked to open the problem */
    size_t messages; /* how many of spare_worker_event()'s have come */
};

/* Zeroed, there are none. */
struct spare_workers {
    struct spare_worker list[SPARE_WORKERS]; /* the oldest first */
    size_t count;
    struct worker leaving[SPARE_LEAVING]; /* killed, and possibly not gone yet */
    size_t leaving_count;
    int heat;      /* rises with each fault */
    size_t beside; /* how many of the oldest requests under way ran beside a change */
    bool refused;  /* one has failed: no more on this problem */
};

/* The event that its message number `index` (from 0) must be; NULL if no further one is due. */
const char *spare_worker_event(const struct spare_worker *spare, size_t index);

/* A variant has faulted. Returns how many spares should be started. */
size_t spare_workers_heat(struct spare_workers *spares);

/* Starts one, which opens the problem with `open` (NULL: it has a context only), and is released.
 * If no process can be started, there is none. */
void spare_workers_start(struct spare_workers *spares, const char *ordinal, json_t *open);

/* If a spare is starting or a killed worker ending, the requests that are under way, of which there
 * are `requests`, count as disturbed. */
void spare_workers_note(struct spare_workers *spares, struct event_loop *loop, size_t requests);

/* How many processes there are, with those that may still be ending. */
size_t spare_workers_running(const struct spare_workers *spares);

/* Hands over the oldest, which the caller owns from then on; false if there is none. */
bool spare_workers_take(struct spare_workers *spares, struct spare_worker *spare);

/* Kills a worker, which is taken over, without waiting for its end. False if an earlier one does not
 * end. */
bool spare_workers_leave(struct spare_workers *spares, struct worker *worker);

/* The variant of the oldest request has not faulted. Returns whether that was disturbed. If not, it
 * takes a few in a row until spares are stopped. */
bool spare_workers_cool(struct spare_workers *spares);

/* Stops all and forgets everything. */
void spare_workers_clear(struct spare_workers *spares);

#endif
