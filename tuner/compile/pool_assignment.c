#include "compile/pool_assignment.h"

#include "base/channel.h"
#include "base/clock.h"
#include "compile/pool_messages.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { START_FAILURES = 3 };

void pool_assignment_begin(struct compile_pool *pool, struct pool_worker *worker,
                           struct pool_job *job)
{
    /* whether every worker can expect another job of the kind */
    bool more = pool->jobs.queued_with_headers >= pool_places_limit(&pool->workers.places);
    worker->job = job;
    (void)worker_starved_ns(&worker->worker);
    /* a worker that is gone shows at the next reading */
    worker_send(&worker->worker, pool_messages_request(job, more), NULL, 0);
    worker->began_ns = clock_ns(); /* not before: sending may take long on a busy machine */
    worker->source.deadline_ns = worker->began_ns + (int64_t)(pool->compile_timeout_s * 1e9);
}

/* Another worker with the same job; NULL: there is none. */
static struct pool_worker *find_other(const struct pool_workers *workers,
                                      const struct pool_worker *worker)
{
    const struct pool_job *job = worker->job;
    for (size_t i = 0; i < workers->count && job != NULL && job->twice; i++)
        if (workers->items[i] != worker && workers->items[i]->job == job)
            return workers->items[i];
    return NULL;
}

/* --- answers --- */

static int pass_on(const struct pool_worker *worker, const struct error *reason,
                   struct error *error)
{
    if (error == NULL)
        return reason->code;
    *error = *reason;
    return pool_workers_name_node(worker, error);
}

/* Takes what a worker has made of a job. */
static int take_entry(struct pool_jobs *jobs, struct pool_job *job, struct error *error)
{
    int status = pool_jobs_take_entry(jobs, job, error);
    if (status < 0)
        return status;
    if (status == 0)
        return error_set(
            error, ERROR_RECORD,
            "cache entry '%s' cannot be read, though it has just been written; look at "
            "its disk and permissions",
            job->job.path);
    pool_jobs_count_written(jobs, job);
    return 1;
}

static void note_time(struct compile_pool *pool, const struct pool_worker *worker)
{
    double took_s = (double)(clock_ns() - worker->began_ns) * 1e-9;
    pool_jobs_note_time(&pool->jobs, worker->job, took_s);
    worker->place->busy_s += took_s;
    worker->place->jobs++;
}

/* The first answer counts: the other worker with the job is slow, and is not waited for. */
static void take_job(struct compile_pool *pool, struct pool_worker *worker)
{
    struct pool_worker *other = find_other(&pool->workers, worker);
    note_time(pool, worker);
    if (other != NULL)
        pool_workers_remove(&pool->workers, other);
    worker->job->twice = worker->second = false;
    worker->job = NULL;
    pool_workers_rest(&pool->workers, worker);
}

/* Takes a message of a worker that has a job: returns 1, 0 if it is not the answer to that, or an
 * error that is not the variant's fault: of the cache, or of a header that has changed. */
static int take_result(struct compile_pool *pool, struct pool_worker *worker, const json_t *message,
                       struct error *error)
{
    struct pool_job *job = worker->job;
    struct error reason;
    int status = message_error(message, &reason);
    if (status == 0 && !pool_messages_is(message, "compiled"))
        return 0;
    take_job(pool, worker);
    if (status == ERROR_RECORD || status == ERROR_CONFIG)
        return pass_on(worker, &reason, error);
    if (status == 0)
        return take_entry(&pool->jobs, job, error);
    pool_jobs_fail(&pool->jobs, job, reason.message);
    return 1;
}

/* --- losses --- */

/* Fails the job of a worker that was lost for `reason`; one that was killed from outside deserves
 * another try. */
static void fail_lost_job(struct pool_jobs *jobs, struct pool_job *job, const char *reason,
                          bool killed)
{
    char text[WORKER_REASON_BYTES + 64];
    if (killed && ++job->kills < WORKER_KILL_LIMIT) {
        pool_jobs_enqueue(jobs, job, true);
        return;
    }
    job->job.killed = killed;
    (void)snprintf(text, sizeof text, "the compiler %s%s", reason,
                   strstr(reason, "signal 6 ") != NULL
                       ? ", as when it would take more memory than it may"
                       : "");
    pool_jobs_fail(jobs, job, text);
}

/*
 * Removes a worker that died (`reason` NULL), is stopped, passed its deadline or cannot be trusted.
 * The next job that needs a worker starts another. Returns 0, or
 * ERROR_WORKER once several in a row never became ready.
 */
static int lose_worker(struct compile_pool *pool, struct pool_worker *worker, const char *reason,
                       struct error *error)
{
    char end[WORKER_REASON_BYTES];
    struct pool_job *job = worker->job;
    struct pool_worker *other = find_other(&pool->workers, worker);
    bool killed = worker_is_stopped(&worker->worker);
    if (!worker->ready)
        pool->workers.failed_starts++;
    if (reason == NULL)
        killed = worker_reap(&worker->worker, end);
    if (other != NULL) /* which goes on with it */
        job->twice = other->second = false;
    else if (job != NULL)
        note_time(pool, worker);
    pool_workers_remove(&pool->workers, worker);
    if (job != NULL && other == NULL)
        fail_lost_job(&pool->jobs, job, reason != NULL ? reason : end, killed);
    if (pool->workers.failed_starts < START_FAILURES)
        return 0;
    return error_set(error, ERROR_WORKER,
                     "compile workers end before they are ready; run `autotune worker compile` to "
                     "see why");
}

/* The worker cannot be relied on after that; nor is the source to blame, so that it is not refused. */
static bool is_out_of_memory(const struct pool_worker *worker, const json_t *message)
{
    struct error reason;
    return worker->job != NULL && message_error(message, &reason) == ERROR_MEMORY;
}

/* Takes one message: returns 1, 0 if it makes no sense, or an error that ends the run. */
static int take_message(struct compile_pool *pool, struct pool_worker *worker,
                        const json_t *message, struct error *error)
{
    worker->source.deadline_ns = EVENT_NEVER;
    if (worker->job != NULL)
        return take_result(pool, worker, message, error);
    return worker->ready ? 0 : pool_workers_greet(&pool->workers, worker, message, error);
}

int pool_assignment_take(struct pool_worker *worker, struct error *error)
{
    struct compile_pool *pool = worker->pool;
    json_t *message;
    int status = channel_fill(&worker->worker.channel, NULL);
    if (status != 1)
        return lose_worker(pool, worker, NULL, error);
    while ((status = channel_next(&worker->worker.channel, &message, NULL)) == 1) {
        bool out_of_memory = is_out_of_memory(worker, message);
        status = out_of_memory ? 0 : take_message(pool, worker, message, error);
        json_decref(message);
        if (out_of_memory)
            return lose_worker(pool, worker, "ran out of memory", error);
        if (status < 0)
            return status;
        if (status == 0)
            return lose_worker(pool, worker, "sent an invalid message", error);
    }
    return status < 0 ? lose_worker(pool, worker, "sent an invalid message", error) : 1;
}

int pool_assignment_expire(struct event_source *source, struct error *error)
{
    struct pool_worker *worker = source->owner;
    struct compile_pool *pool = worker->pool;
    char reason[64];
    int64_t starved_ns = worker_starved_ns(&worker->worker);
    if (starved_ns >= WORKER_STARVED_NS) {
        source->deadline_ns = clock_ns() + starved_ns;
        return 0;
    }
    double timeout_s =
        worker->job != NULL ? pool->compile_timeout_s : pool_workers_ready_timeout_s();
    if (worker_was_asleep(source->deadline_ns)) {
        source->deadline_ns = clock_ns() + (int64_t)(timeout_s * 1e9);
        return 0;
    }
    if (worker_is_stopped(&worker->worker))
        return lose_worker(pool, worker, "was stopped by a signal", error);
    if (worker->job != NULL && find_other(&pool->workers, worker) == NULL)
        worker->job->job.timed_out = true;
    (void)snprintf(reason, sizeof reason, "did not end within %g s", timeout_s);
    return lose_worker(pool, worker, reason, error);
}
