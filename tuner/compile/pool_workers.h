/*
 * The workers of a compile pool: starting them on machines that have room, their greeting, those
 * that are idle, and removing them. What a worker does with a job is pool_assignment.h's.
 *
 * Calling sequence:
 *     workers = (struct pool_workers){.loop = loop, .pool = pool, .readable = …, .expired = …};
 *     pool_places_init(&workers.places, …);
 *     pool_workers_add(&workers, place, error);     or pool_workers_add_for()
 *     pool_workers_greet(&workers, worker, …);      with its first message: it is idle now
 *     pool_workers_take_idle(&workers, worker);     it gets a job, and when that is done:
 *     pool_workers_rest(&workers, worker);
 *     pool_workers_remove(&workers, worker);        whatever it does
 *     pool_workers_release(&workers);
 */
#ifndef AUTOTUNE_POOL_WORKERS_H
#define AUTOTUNE_POOL_WORKERS_H

#include "base/error.h"
#include "base/event_loop.h"
#include "base/worker.h"
#include "compile/pool_jobs.h"
#include "compile/pool_places.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct compile_pool;

struct pool_worker {
    struct compile_pool *pool; /* for the callbacks */
    struct pool_place *place;
    struct event_source source; /* its deadline: for the greeting, or for the job */
    struct worker worker;
    bool ready;
    struct pool_job *job; /* being done; borrowed */
    bool second;          /* another worker was given it before */
    int64_t began_ns;     /* that, on clock_ns() */
};

/* The first four are set by the pool; they are borrowed. */
struct pool_workers {
    struct event_loop *loop;
    struct compile_pool *pool;
    /* of each worker's event source, whose owner is the struct pool_worker */
    int (*readable)(struct event_source *source, struct error *error);
    int (*expired)(struct event_source *source, struct error *error);
    struct pool_places places;
    char nvrtc[32];        /* nvrtc_build(); "" before the first greeting */
    json_t *architectures; /* of the first greeting; NULL before it */
    struct pool_worker **items;
    size_t count;
    struct pool_worker **idle; /* those that are ready and have no job */
    size_t idle_count;
    size_t starting_count; /* of workers that are not ready yet */
    bool full;             /* no machine has room for another worker */
    int failed_starts;     /* in a row */
};

/* Kills all workers; those of this machine that are idle end by themselves. */
void pool_workers_release(struct pool_workers *workers);

/* How long a worker may take to greet. */
double pool_workers_ready_timeout_s(void);

/* Starts a worker there. Returns 0 or ERROR_WORKER. */
int pool_workers_add(struct pool_workers *workers, struct pool_place *place, struct error *error);

/* Starts workers for queued jobs that no idle worker, and none that is coming, will take. Returns 0,
 * or ERROR_WORKER if there is no worker at all. */
int pool_workers_add_for(struct pool_workers *workers, size_t queued, struct error *error);

/* Takes a message of a worker that has not greeted yet: returns 1, 0 if it is not a greeting, the
 * error that it is, or ERROR_DEVICE for another NVRTC than the other workers have. */
int pool_workers_greet(struct pool_workers *workers, struct pool_worker *worker,
                       const json_t *message, struct error *error);

/* Says in an error of a worker which machine it is of, if there are several. Returns its code. */
int pool_workers_name_node(const struct pool_worker *worker, struct error *error);

/* An idle worker is not idle any more; one without a job is idle. */
void pool_workers_take_idle(struct pool_workers *workers, const struct pool_worker *worker);
void pool_workers_rest(struct pool_workers *workers, struct pool_worker *worker);

/* Kills the worker, removes what it may leave of its job, and frees it. */
void pool_workers_remove(struct pool_workers *workers, struct pool_worker *worker);

/* Removes the workers that are doing the job. */
void pool_workers_stop(struct pool_workers *workers, const struct pool_job *job);

#endif
