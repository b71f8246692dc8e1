#include "compile/pool_jobs.h"

#include "base/alloc.h"
#include "compile/cubin_cache.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void pool_jobs_init(struct pool_jobs *jobs, const char *cache_folder)
{
    jobs->cache_folder = alloc_string(cache_folder);
}

/* --- what the compiler needs --- */

static void leave_source(struct pool_source *source)
{
    if (source == NULL || --source->users > 0)
        return;
    free(source->text);
    free(source);
}

/* The source with that hash, which has one user more now. */
static struct pool_source *share_source(struct pool_jobs *jobs, const char *text, const char *hash)
{
    if (jobs->source == NULL || strcmp(jobs->source->hash, hash) != 0) {
        leave_source(jobs->source);
        jobs->source = alloc_zeroed(1, sizeof *jobs->source);
        jobs->source->users = 1;
        jobs->source->text = alloc_string(text);
        (void)snprintf(jobs->source->hash, HASH_BYTES, "%s", hash);
    }
    jobs->source->users++;
    return jobs->source;
}

void pool_jobs_request(struct pool_jobs *jobs, struct pool_job *job, const char *name,
                       const char *text, const char *source_hash, const char *arch,
                       const struct options *options)
{
    job->name = alloc_string(name);
    job->source = share_source(jobs, text, source_hash);
    (void)snprintf(job->arch, sizeof job->arch, "%s", arch);
    options_copy(&job->options, options);
}

static void release_request(struct pool_job *job)
{
    options_release(&job->options);
    free(job->name);
    leave_source(job->source);
    job->name = NULL;
    job->source = NULL;
}

/* --- by key --- */

static void free_job(void *node)
{
    struct pool_job *job = node;
    compilation_release(&job->job.compilation);
    release_request(job);
    free(job->job.path);
    free(job);
}

void pool_jobs_release(struct pool_jobs *jobs)
{
    tdestroy(jobs->by_key, free_job);
    leave_source(jobs->source);
    compile_estimate_release(&jobs->estimate);
    free(jobs->cache_folder);
}

static int compare_keys(const void *a, const void *b)
{
    const struct compile_job *first = a;
    const struct compile_job *second = b;
    return strcmp(first->key, second->key);
}

/* NULL if there is none. */
static struct pool_job *find_key(const struct pool_jobs *jobs, const char *key)
{
    struct compile_job wanted = {0};
    memcpy(wanted.key, key, sizeof wanted.key);
    struct pool_job **known = tfind(&wanted, &jobs->by_key, compare_keys);
    return known != NULL ? *known : NULL;
}

bool pool_jobs_has(const struct pool_jobs *jobs, const char *key)
{
    if (find_key(jobs, key) != NULL)
        return true;
    char *path = cubin_cache_path(jobs->cache_folder, key);
    bool cached = access(path, R_OK) == 0;
    free(path);
    return cached;
}

struct pool_job *pool_jobs_find(struct pool_jobs *jobs, const char *key)
{
    struct pool_job *known = find_key(jobs, key);
    if (known != NULL)
        jobs->held_count += known->users++ == 0;
    return known;
}

struct pool_job *pool_jobs_add(struct pool_jobs *jobs, const char *key)
{
    struct pool_job *new = alloc_zeroed(1, sizeof *new);
    memcpy(new->job.key, key, sizeof new->job.key);
    new->job.path = cubin_cache_path(jobs->cache_folder, key);
    new->users = 1;
    jobs->held_count++;
    if (tsearch(new, &jobs->by_key, compare_keys) == NULL)
        abort();
    return new;
}

/* How a worker was lost is not in the cache: that is kept, so that it is not tried again. */
bool pool_jobs_leave(struct pool_jobs *jobs, struct pool_job *job)
{
    if (--job->users > 0)
        return false;
    jobs->held_count--;
    return job->job.failure[0] == '\0' || job->job.invalid;
}

void pool_jobs_remove(struct pool_jobs *jobs, struct pool_job *job)
{
    (void)tdelete(job, &jobs->by_key, compare_keys);
    free_job(job);
}

/* --- the queue --- */

static bool compiles_headers(const struct pool_job *job)
{
    return job->options.header_count > 0;
}

void pool_jobs_enqueue(struct pool_jobs *jobs, struct pool_job *job, bool urgent)
{
    compile_estimate_add(&jobs->estimate, job->kind);
    jobs->queue_count++;
    jobs->queued_with_headers += compiles_headers(job);
    job->urgent = urgent;
    job->next = urgent ? jobs->first : NULL;
    if (urgent || jobs->first == NULL)
        jobs->first = job;
    else
        jobs->last->next = job;
    if (job->next == NULL)
        jobs->last = job;
}

void pool_jobs_note_time(struct pool_jobs *jobs, const struct pool_job *job, double seconds)
{
    compile_estimate_done(&jobs->estimate, job->kind, seconds);
}

struct pool_job *pool_jobs_dequeue(struct pool_jobs *jobs)
{
    struct pool_job *job = jobs->first;
    jobs->first = job->next;
    jobs->queue_count--;
    jobs->queued_with_headers -= compiles_headers(job);
    return job;
}

bool pool_jobs_unqueue(struct pool_jobs *jobs, const struct pool_job *job)
{
    struct pool_job *before = NULL;
    struct pool_job *at = jobs->first;
    for (; at != NULL && at != job; at = at->next)
        before = at;
    if (at == NULL)
        return false;
    *(before != NULL ? &before->next : &jobs->first) = at->next;
    if (jobs->last == at)
        jobs->last = before;
    jobs->queue_count--;
    jobs->queued_with_headers -= compiles_headers(job);
    return true;
}

/* --- results --- */

static void end_job(struct pool_jobs *jobs, struct pool_job *job)
{
    release_request(job);
    job->job.done = true;
    jobs->done_count++;
}

int pool_jobs_take_entry(struct pool_jobs *jobs, struct pool_job *job, struct error *error)
{
    struct compilation *compilation = &job->job.compilation;
    bool found = false;
    compilation_release(compilation);
    int status = cubin_cache_check(job->job.path, compilation, &found, error);
    if (status != 0 || !found)
        return status;
    job->job.has_cubin = compilation->cubin_bytes > 0;
    end_job(jobs, job);
    return 1;
}

void pool_jobs_count_written(struct pool_jobs *jobs, const struct pool_job *job)
{
    struct stat information;
    if (stat(job->job.path, &information) == 0)
        jobs->written_bytes += (uint64_t)information.st_size;
}

void pool_jobs_fail(struct pool_jobs *jobs, struct pool_job *job, const char *reason)
{
    (void)snprintf(job->job.failure, sizeof job->job.failure, "%.250s", reason);
    end_job(jobs, job);
}
