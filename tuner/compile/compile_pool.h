/*
 * The pool of compile workers and the jobs they do. Jobs with the same key are one job; a job whose
 * cubin is in the cache is done at once and needs no worker. A worker that dies, passes its
 * deadline or sends an invalid message is killed and replaced, and its job ends with that as its
 * failure.
 *
 * The pool has no thread: it moves on whenever the coordinator waits in the event loop, for this
 * pool or for the GPU. Workers are sent the texts to compile and send back what they made of them;
 * the cache is the pool's alone.
 */
#ifndef AUTOTUNE_COMPILE_POOL_H
#define AUTOTUNE_COMPILE_POOL_H

#include "base/error.h"
#include "base/event_loop.h"
#include "base/hash.h"
#include "compile/compilation.h"
#include "template/source.h"
#include "template/variant.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct compile_pool_options {
    size_t workers;           /* on each machine, at most; 0: one per core */
    struct nodes *nodes;      /* the machines; NULL: this one */
    double compile_timeout_s; /* for one job, not counting waits for a processor */
    const char *cache_folder;
    bool cache_is_optional; /* failing to write it is not an error */
    const char *arch; /* "sm_90"; or set later, before the first job: compile_pool_set_arch() */
};

struct compile_pool;

/* A job, as whoever requested it sees it. The pool owns it. */
struct compile_job {
    char key[HASH_BYTES];
    char *path; /* of its entry in the cubin cache */
    bool done;
    bool has_cubin;                 /* otherwise `failure` or the compiler's log says why */
    struct compilation compilation; /* kernels and log; no image, unless the
                                       cache could not be written */
    char failure[256];              /* how its worker was lost; "" if it was not */
    enum error_code failure_code;
    bool timed_out;     /* the worker missed the deadline */
    bool killed;        /* from outside, more than once */
    bool invalid;       /* its options cannot be computed; no worker had it */
    bool cached;        /* no worker was needed */
    unsigned distrusts; /* calls of compile_pool_distrust() */
};

/* Starts the first worker; the others start when jobs need them. `loop` must outlive the pool.
 * Returns 0 or ERROR_WORKER. */
int compile_pool_new(struct compile_pool **pool, struct event_loop *loop,
                     const struct compile_pool_options *options, struct error *error);
void compile_pool_free(struct compile_pool *pool); /* kills the workers; NULL is allowed */

/* NVRTC's version, and the architecture of the requests that follow. Both wait for the first worker's
 * greeting.
 * They return 0, ERROR_DEVICE if there is no NVRTC, ERROR_WORKER if workers do not start, or
 * ERROR_USAGE for an architecture that NVRTC does not know. */
int compile_pool_nvrtc_version(struct compile_pool *pool, const char **version,
                               struct error *error);
int compile_pool_set_arch(struct compile_pool *pool, const char *arch, struct error *error);

/*
 * The job that compiles `source`, which must outlive it, with `options`, which are copied: a new job, or
 * the earlier one with the same key. The pool owns it; it lives until every request for it was dropped.
 * Urgent jobs go before the others.
 */
int compile_pool_request(struct compile_pool *pool, const struct source *source,
                         const struct options *options, bool urgent, struct compile_job **job,
                         struct error *error);

/* The entry of a job that was done cannot be read any more: the next request for it compiles it again. False if
 * that has been tried often enough. */
bool compile_pool_distrust(struct compile_job *job);

/* The job of a variant whose options cannot be computed, for that `reason`: done, without a cubin. It
 * is dropped as others are. */
struct compile_job *compile_pool_refuse(struct compile_pool *pool, const struct error *reason);

/* Takes back one request for a job. One that is not done and that nobody else wants is not compiled;
 * a worker that is compiling it is killed. */
void compile_pool_drop(struct compile_pool *pool, struct compile_job *job);

struct compile_pool_counts {
    size_t held;            /* jobs that were requested and not dropped */
    size_t waiting;         /* jobs without a worker */
    uint64_t done;          /* jobs done so far; it grows with each one */
    size_t workers;         /* at most; at least 1 */
    uint64_t written_bytes; /* the size of the entries that it has written to the cubin cache */
};
struct compile_pool_counts compile_pool_counts(const struct compile_pool *pool);

/* How long all workers of that machine were busy in sum, and how many jobs they did; `number` as of
 * nodes_at(). */
struct compile_pool_share {
    double busy_s;
    size_t jobs;
    size_t workers; /* at most */
};
struct compile_pool_share compile_pool_share(const struct compile_pool *pool, size_t number);

/* The result of a job that has a cubin, with its image; release it. ERROR_RECORD if it cannot be read any
 * more. */
int compile_job_image(const struct compile_job *job, struct compilation *compilation,
                      struct error *error);

/* Waits until the job is done. Returns 0, ERROR_INTERRUPTED, ERROR_WORKER if workers do not start,
 * or ERROR_RECORD if the cache cannot be written or read. */
int compile_pool_wait(struct compile_pool *pool, const struct compile_job *job,
                      struct error *error);

/* The same, but also returns 0, with the job not done, at `until_ns` (on clock_ns()). */
int compile_pool_wait_until(struct compile_pool *pool, const struct compile_job *job,
                            int64_t until_ns, struct error *error);

/* Seconds until all jobs are done, and how many there are; see compile_estimate.h. */
double compile_pool_left_s(const struct compile_pool *pool, size_t *jobs);

/*
 * Whether what was compiled so far is what its keys say: workers read the toolkit's headers each time they
 * compile, and find out which toolkit it is when they start. Starts one more on each machine (25 ms), unless the
 * cache had everything. Call it before a result counts for good. Returns 0; ERROR_DEVICE if the toolkit has
 * changed, with the entries since the last call removed from the cache; or an error as in
 * compile_pool_wait(). A pool that is killed before has not asked, and its entries stay.
 */
int compile_pool_confirm(struct compile_pool *pool, struct error *error);

/* A worker that started later than the first has found another toolkit: the pool's error was that. */
bool compile_pool_toolkit_changed(const struct compile_pool *pool);

#endif
