/*
 * The pool of compile workers and the jobs they do. Jobs with the same key are one job; a job whose
 * cubin is in the cache is done at once and needs no worker. A worker that passes its deadline or
 * dies is killed and replaced, and its job is done, with that as its failure.
 *
 * The pool has no thread: it moves on while the coordinator waits in pool_wait() or pool_serve().
 */
#ifndef AUTOTUNE_POOL_H
#define AUTOTUNE_POOL_H

#include "cubin.h"
#include "error.h"
#include "nvrtc.h"
#include "source.h"
#include "variant.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct compile_job {
    char key[HASH_BYTES];
    char *path; /* of its entry in the cubin cache */
    bool done;
    bool has_cubin;                 /* otherwise `failure` or the compiler's log says why */
    struct compilation compilation; /* figures and log; no image */
    char failure[256]; /* the worker's end, not the program's fault; "" where there is none */
    bool cached;       /* no worker was needed */
    double milliseconds;
};

struct pool_options {
    size_t workers;           /* at most; 0: the number of cores */
    double compile_timeout_s; /* for one job */
    const char *cache_folder;
    const char *arch; /* "sm_90"; may also be set later, before the first job, by pool_set_arch() */
};

struct pool;

/* Starts the first worker; the others start with the first jobs that need them. Returns 0 or
 * ERROR_WORKER. */
int pool_new(struct pool **pool, const struct pool_options *options, struct error *error);
void pool_free(struct pool *pool); /* kills the workers; NULL is allowed */

/* NVRTC's version, and the check that it knows the architecture; these wait for the first worker's
 * greeting. Return 0, ERROR_DEVICE where there is no NVRTC, ERROR_USAGE for an architecture it does
 * not know. */
int pool_nvrtc_version(struct pool *pool, const char **version, struct error *error);
int pool_set_arch(struct pool *pool, const char *arch, struct error *error);

/*
 * The job that compiles `source` with `options`, which are copied; new or known. It stays the
 * pool's. `urgent` jobs go before the others. Headers are precompiled where there are enough jobs
 * with any.
 */
int pool_request(struct pool *pool, const char *name, const char *text, const char *source_hash,
                 const struct options *options, bool urgent, struct compile_job **job,
                 struct error *error);

/* Waits until the job is done. Returns 0, ERROR_INTERRUPTED, or ERROR_WORKER where workers cannot
 * be started. */
int pool_wait(struct pool *pool, const struct compile_job *job, struct error *error);

/*
 * Serves the workers until `descriptor` (-1: none) can be read: returns 1; until `deadline_ns` on
 * clock_ns() (negative: none): returns 0; or an error as pool_wait(). With `any_job`, also returns
 * 0 as soon as a job is done.
 */
int pool_serve(struct pool *pool, int descriptor, int64_t deadline_ns, bool any_job,
               struct error *error);

/* How many jobs there are, are done, were found in the cache. */
struct pool_counts {
    size_t jobs, done, cached;
};
struct pool_counts pool_counts(const struct pool *pool);

#endif
