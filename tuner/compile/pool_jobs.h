/*
 * The jobs of a compile pool: all of them by key, who still wants them, and the queue of those that
 * wait for a worker. It reads results from the cubin cache, which alone can fail; it knows nothing of
 * workers.
 *
 * Calling sequence:
 *     pool_jobs_init(&jobs, cache_folder);
 *     job = pool_jobs_find(&jobs, key);                 or else
 *     job = pool_jobs_add(&jobs, key);
 *     pool_jobs_take_entry(&jobs, job);                 done, if the cache has all that is wanted
 *     pool_jobs_request(&jobs, job, name, text, source_hash, arch, options); and set its kind
 *     pool_jobs_enqueue(&jobs, job, urgent);
 *     job = pool_jobs_dequeue(&jobs);                   for a worker, until
 *     pool_jobs_take_entry(&jobs, job);                 or pool_jobs_fail(), or it is queued again
 *     if (pool_jobs_leave(&jobs, job))                  once for each find and add
 *         pool_jobs_remove(&jobs, job);
 *     pool_jobs_release(&jobs);
 */
#ifndef AUTOTUNE_POOL_JOBS_H
#define AUTOTUNE_POOL_JOBS_H

#include "base/hash.h"
#include "compile/compile_estimate.h"
#include "compile/compile_job.h"
#include "template/variant.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A source. The jobs of its variants share it: there may be two for each core of a cluster. */
struct pool_source {
    size_t users;
    char hash[HASH_BYTES];
    char *text;
};

struct pool_job {
    struct compile_job job; /* first: pointers to it are pointers to this */
    struct pool_job *next;  /* in the queue */
    int kills;              /* of its workers, from outside: it is tried again */
    size_t users;           /* requests that were not taken back */
    bool twice;             /* two workers have it; the first answer counts */
    size_t kind;            /* for the estimate */
    bool urgent;            /* before all others */
    bool unreadable;        /* done, but its entry is not there any more */
    char arch[16];
    char *name; /* these three until it is done, unless the cache had its cubin */
    struct pool_source *source;
    struct options options;
};

struct pool_jobs {
    char *cache_folder;
    void *by_key;      /* tsearch's tree of all jobs */
    size_t held_count; /* of jobs that have users */
    uint64_t done_count;
    uint64_t written_bytes;
    struct pool_source *source; /* of the last request */
    struct pool_job *first;     /* of the queue: not yet given to a worker */
    struct pool_job *last;
    size_t queue_count;
    size_t queued_with_headers; /* of the queue */
    struct compile_estimate estimate;
};

/* `jobs` is zeroed; the folder's name is copied. */
void pool_jobs_init(struct pool_jobs *jobs, const char *cache_folder);

/* Frees all jobs, even those that have users. No worker may have one. */
void pool_jobs_release(struct pool_jobs *jobs);

/* Whether there is a job with that key, or an entry in the cache. */
bool pool_jobs_has(const struct pool_jobs *jobs, const char *key);

/* The job with that key, which has one user more now; NULL if there is none. */
struct pool_job *pool_jobs_find(struct pool_jobs *jobs, const char *key);

/* A new job with one user. There must be none with that key. It lives until it is removed. */
struct pool_job *pool_jobs_add(struct pool_jobs *jobs, const char *key);

/* Gives the job what its compiler needs; all is copied. */
void pool_jobs_request(struct pool_jobs *jobs, struct pool_job *job, const char *name,
                       const char *text, const char *source_hash, const char *arch,
                       const struct options *options);

/* Puts the job at the end of the queue, or before all others, and into the estimate. */
void pool_jobs_enqueue(struct pool_jobs *jobs, struct pool_job *job, bool urgent);

/* Notes how long a worker took for the job. */
void pool_jobs_note_time(struct pool_jobs *jobs, const struct pool_job *job, double seconds);

/* Takes the first job out of the queue, which is not empty. */
struct pool_job *pool_jobs_dequeue(struct pool_jobs *jobs);

/* Takes the job out of the queue; false if it is not there. */
bool pool_jobs_unqueue(struct pool_jobs *jobs, const struct pool_job *job);

/* Takes the result from the cache: 1; 0 if it is not there; or ERROR_RECORD. The image is read as well, so
 * that damage shows while there is a compiler to mend it. The job is done then. */
int pool_jobs_take_entry(struct pool_jobs *jobs, struct pool_job *job, struct error *error);

/* Adds the size of the job's entry to what was written. */
void pool_jobs_count_written(struct pool_jobs *jobs, const struct pool_job *job);

/* The job is done, without a cubin, for that reason. */
void pool_jobs_fail(struct pool_jobs *jobs, struct pool_job *job, const char *reason);

/* The job has one user less now. Returns true if the caller has to remove it: it was the last one,
 * and the job is not kept as a failure. */
bool pool_jobs_leave(struct pool_jobs *jobs, struct pool_job *job);

/* Frees the job, which has no users, is not queued, and no worker has it. */
void pool_jobs_remove(struct pool_jobs *jobs, struct pool_job *job);

#endif
