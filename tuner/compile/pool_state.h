/*
 * What a compile pool is made of, for its modules:
 *     pool_jobs.c       requests, the jobs by key and their queue, results
 *     pool_workers.c    the machines, their workers, and who compiles what
 *     compile_estimate  how long it will take
 */
#ifndef AUTOTUNE_POOL_STATE_H
#define AUTOTUNE_POOL_STATE_H

#include "base/event_loop.h"
#include "base/worker.h"
#include "compile/compile_estimate.h"
#include "compile/compile_pool.h"

#include <jansson.h>

struct pool_job {
    struct compile_job job; /* first: pointers to it are pointers to this */
    struct pool_job *next;  /* in the queue */
    int kills;              /* of its workers, from outside: it is tried again */
    size_t users;           /* requests that were not taken back */
    bool twice;             /* two workers have it; the first answer counts */
    size_t kind;            /* for the estimate */
    bool unreadable;        /* done, but its entry is not there any more */
    bool wants_ptx;
    char arch[16];
    const struct source *source; /* these two until it is done, unless the cache had its cubin */
    struct options options;
};

/* A machine. */
struct pool_place {
    struct node *node; /* borrowed; NULL: this one */
    size_t limit;      /* of its workers */
    size_t workers;
    double busy_s; /* of all that it had */
    size_t jobs;
    int64_t confirmed_ns; /* then, on clock_ns(), its toolkit was still the same */
};

struct pool_worker {
    struct compile_pool *pool; /* for the callbacks */
    struct pool_place *place;
    struct event_source source; /* its deadline: for the greeting, or for the job */
    struct worker worker;
    char *folder; /* staging.h; NULL before the greeting */
    bool ready;
    bool confirms;        /* it only greets, to say which toolkit there is, and gets no jobs */
    struct pool_job *job; /* being done; borrowed */
    bool second;          /* another worker was given it before */
    int64_t began_ns;     /* that, or starting it, on clock_ns() */
};

/* An entry that this pool has written to the cache. */
struct pool_entry {
    char *path;
    int64_t written_ns;
};

struct compile_pool {
    struct event_loop *loop;
    struct event_source source; /* hands out jobs before each wait */
    double compile_timeout_s;   /* for one job */
    char arch[16];              /* of the requests that follow; "" before it is set */
    char *cache_folder;
    bool cache_is_optional;

    void *by_key;      /* tsearch's tree of all jobs */
    size_t held_count; /* of jobs that have users */
    uint64_t done_count;
    uint64_t written_bytes;
    struct pool_entry *unconfirmed; /* since compile_pool_confirm() */
    size_t unconfirmed_count;
    bool toolkit_changed;
    struct pool_job *first; /* of the queue: not yet given to a worker */
    struct pool_job *last;
    size_t queue_count;
    struct compile_estimate estimate;

    struct pool_place *places; /* as many as nodes, and in their order; without nodes, one */
    size_t place_count;
    char nvrtc[32];        /* nvrtc_build(); "" before the first greeting */
    json_t *architectures; /* of the first greeting; NULL before it */
    struct pool_worker **workers;
    size_t worker_count;
    struct pool_worker **idle; /* those that are ready and have no job */
    size_t idle_count;
    size_t starting_count; /* of workers that are not ready yet */
    bool full;             /* no machine has room for another worker */
    int failed_starts;     /* in a row */
};

/* --- pool_jobs.c --- */

/* Puts the job at the end of the queue, or before all others. */
void pool_enqueue(struct compile_pool *pool, struct pool_job *job, bool urgent);

/* Takes the first job out of the queue, which is not empty. */
struct pool_job *pool_dequeue(struct compile_pool *pool);

/* The job is done: with what a worker has sent, `count` bytes that are overwritten; or without a cubin, for
 * that reason. pool_take_result() returns 1, 0 if the bytes make no sense, or ERROR_RECORD if the cache
 * cannot be written. */
int pool_take_result(struct compile_pool *pool, struct pool_job *job, char *bytes, size_t count,
                     struct error *error);
void pool_fail(struct compile_pool *pool, struct pool_job *job, enum error_code code,
               const char *reason);

/* The entries that were written until then, on clock_ns(), are kept, or else removed from the cache: they may
 * have been compiled by another toolkit than their keys say. */
void pool_settle_entries(struct compile_pool *pool, int64_t until_ns, bool keep);

/* --- pool_workers.c --- */

/* From now on, the pool hands out jobs before each wait in the loop, and after each answer. */
void pool_workers_begin(struct compile_pool *pool, const struct compile_pool_options *options);

/* Kills all workers; those of this machine that are idle end by themselves. */
void pool_workers_end(struct compile_pool *pool);

/* Starts a worker on the first machine. Returns 0 or ERROR_WORKER. */
int pool_workers_add_first(struct compile_pool *pool, struct error *error);

/* Starts workers for queued jobs that no idle worker, and none that is coming, will take. Returns 0,
 * or ERROR_WORKER if there is no worker at all. */
int pool_workers_add_for_queue(struct compile_pool *pool, struct error *error);

/* Removes the workers that are doing the job. */
void pool_workers_stop(struct compile_pool *pool, const struct pool_job *job);

/* As compile_pool_counts() says. */
size_t pool_workers_limit(const struct compile_pool *pool);

#endif
