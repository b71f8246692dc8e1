/* In this order: the jobs by their keys, their queue and their results; the machines and their workers, which of them
 * gets which job, and what becomes of it; what others ask of the pool. */
#include "compile/compile_pool.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/json_text.h"
#include "base/worker.h"
#include "base/write_file.h"
#include "compile/compile_estimate.h"
#include "compile/cubin_cache.h"

#include <jansson.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pool_job {
    struct compile_job job; /* first: pointers to it are pointers to this */
    struct pool_job *next;  /* in the queue */
    int kills;              /* of its workers, from outside: it is tried again */
    size_t users;           /* requests that were not taken back */
    size_t kind;            /* for the estimate */
    bool unreadable;        /* done, but its entry is not there any more */
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
    char *folder; /* of its copies of files; NULL before the greeting */
    bool ready;
    bool confirms;        /* it only greets, to say which toolkit there is, and gets no jobs */
    struct pool_job *job; /* being done, perhaps by another one, too: the first answer counts */
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
    int failed_starts; /* in a row */
};

/* --- jobs by key --- */

static int compare_keys(const void *a, const void *b)
{
    const struct compile_job *first = a;
    const struct compile_job *second = b;
    return strcmp(first->key, second->key);
}

static void release_request(struct pool_job *job)
{
    options_release(&job->options);
    job->source = NULL;
}

static void free_job(void *node)
{
    struct pool_job *job = node;
    compilation_release(&job->job.compilation);
    release_request(job);
    free(job->job.path);
    free(job);
}

/* NULL if there is none. */
static struct pool_job *find(const struct compile_pool *pool, const char *key)
{
    struct compile_job wanted = {0};
    memcpy(wanted.key, key, sizeof wanted.key);
    struct pool_job **known = tfind(&wanted, &pool->by_key, compare_keys);
    return known != NULL ? *known : NULL;
}

/* The job with that key, `*known` or new, which has one user more now. */
static struct pool_job *find_or_add(struct compile_pool *pool, const char *key, bool *known)
{
    struct pool_job *job = find(pool, key);
    *known = job != NULL;
    if (job == NULL) {
        job = alloc_zeroed(1, sizeof *job);
        memcpy(job->job.key, key, sizeof job->job.key);
        job->job.path = cubin_cache_path(pool->cache_folder, key);
        if (tsearch(job, &pool->by_key, compare_keys) == NULL)
            abort();
    }
    pool->held_count += job->users++ == 0;
    return job;
}

/* --- the queue --- */

/* Puts the job at the end of the queue, or before all others. */
static void enqueue(struct compile_pool *pool, struct pool_job *job, bool urgent)
{
    compile_estimate_add(&pool->estimate, job->kind);
    pool->queue_count++;
    job->next = urgent ? pool->first : NULL;
    if (urgent || pool->first == NULL)
        pool->first = job;
    else
        pool->last->next = job;
    if (job->next == NULL)
        pool->last = job;
}

/* Takes the first job out of the queue, which is not empty. */
static struct pool_job *dequeue(struct compile_pool *pool)
{
    struct pool_job *job = pool->first;
    pool->first = job->next;
    pool->queue_count--;
    return job;
}

/* False if it is not there. */
static bool unqueue(struct compile_pool *pool, const struct pool_job *job)
{
    struct pool_job *before = NULL;
    struct pool_job *at = pool->first;
    for (; at != NULL && at != job; at = at->next)
        before = at;
    if (at == NULL)
        return false;
    *(before != NULL ? &before->next : &pool->first) = at->next;
    if (pool->last == at)
        pool->last = before;
    pool->queue_count--;
    return true;
}

/* --- results --- */

static void end_job(struct compile_pool *pool, struct pool_job *job)
{
    release_request(job);
    job->job.done = true;
    pool->done_count++;
}

/* The job is done, with the entry for the cache that a worker has sent. Returns 1, 0 if the bytes make no sense, or
 * ERROR_RECORD if the cache cannot be written. */
static int store_result(struct compile_pool *pool, struct pool_job *job, char *bytes, size_t count,
                        struct error *error)
{
    struct compilation *compilation = &job->job.compilation;
    compilation_release(compilation);
    int stored = write_file_bytes(job->job.path, bytes, count, error);
    if (stored != 0 && !pool->cache_is_optional)
        return stored;
    if (!cubin_cache_parse(job->job.key, bytes, count, stored != 0, compilation)) {
        (void)unlink(job->job.path);
        return 0;
    }
    pool->written_bytes += stored == 0 ? count : 0;
    if (stored == 0)
        *ARRAY_APPEND(pool->unconfirmed, pool->unconfirmed_count) =
            (struct pool_entry){alloc_string(job->job.path), clock_ns()};
    job->job.has_cubin = compilation->cubin_bytes > 0;
    end_job(pool, job);
    return 1;
}

/* The entries that were written until then, on clock_ns(), are kept, or else removed from the cache: they may have
 * been compiled by another toolkit than their keys say. */
static void settle_entries(struct compile_pool *pool, int64_t until_ns, bool keep)
{
    size_t left = 0;
    for (size_t i = 0; i < pool->unconfirmed_count; i++) {
        struct pool_entry entry = pool->unconfirmed[i];
        if (entry.written_ns > until_ns) {
            pool->unconfirmed[left++] = entry;
            continue;
        }
        if (!keep)
            (void)unlink(entry.path);
        free(entry.path);
    }
    pool->unconfirmed_count = left;
}

/* The job is done, without a cubin. */
static void fail_job(struct compile_pool *pool, struct pool_job *job, enum error_code code,
                     const char *reason)
{
    job->job.failure_code = code;
    (void)snprintf(job->job.failure, sizeof job->job.failure, "%.250s", reason);
    end_job(pool, job);
}

/* --- machines --- */

enum { READY_TIMEOUT_S = 60, START_FAILURES = 3 };

/* A job that takes longer than this, and so many times its kind's average, is given to an idle machine,
 * too; how often jobs are looked at. */
#define PATIENCE_S 1.0
#define LOOK_NS 250000000
enum { PATIENCE = 3 };

static void make_places(struct compile_pool *pool, const struct compile_pool_options *options)
{
    size_t count = nodes_count(options->nodes);
    pool->place_count = count > 0 ? count : 1;
    pool->places = alloc_zeroed(pool->place_count, sizeof *pool->places);
    for (size_t i = 0; i < pool->place_count; i++) {
        struct pool_place *place = &pool->places[i];
        place->node = nodes_at(options->nodes, i);
        place->limit = place->node != NULL ? place->node->cores : cores_usable();
        if (options->workers > 0)
            place->limit = options->workers;
    }
}

static bool is_lost(const struct pool_place *place)
{
    return place->node != NULL && place->node->lost;
}

/* How many more workers the machine may have. */
static size_t room_of(const struct pool_place *place)
{
    return is_lost(place) || place->workers >= place->limit ? 0 : place->limit - place->workers;
}

/* The one with the most cores to spare; there may be none to spare. */
static struct pool_place *choose_place(const struct compile_pool *pool)
{
    struct pool_place *best = &pool->places[0];
    for (size_t i = 1; i < pool->place_count; i++)
        if (room_of(&pool->places[i]) > room_of(best))
            best = &pool->places[i];
    return best;
}

static size_t most_workers(const struct compile_pool *pool)
{
    size_t limit = 0;
    for (size_t i = 0; i < pool->place_count; i++)
        limit += is_lost(&pool->places[i]) ? 0 : pool->places[i].limit;
    return limit > 0 ? limit : 1;
}

/* --- workers --- */

static int take_messages(struct event_source *source, struct error *error);
static int expire(struct event_source *source, struct error *error);

static double ready_timeout_s(void)
{
    return worker_timeout_s(READY_TIMEOUT_S);
}

static int add_worker(struct compile_pool *pool, struct pool_place *place, bool confirms,
                      struct error *error)
{
    struct pool_worker *worker = alloc_zeroed(1, sizeof *worker);
    worker->began_ns = clock_ns();
    worker->confirms = confirms;
    int status = worker_start(&worker->worker, place->node, "compile", NULL, error);
    if (status != 0) {
        free(worker);
        return status;
    }
    worker->pool = pool;
    worker->place = place;
    place->workers++;
    worker->source = (struct event_source){
        .descriptor = worker->worker.channel.in,
        .deadline_ns = clock_ns() + (int64_t)(ready_timeout_s() * 1e9),
        .owner = worker,
        .readable = take_messages,
        .expired = expire,
    };
    event_loop_add(pool->loop, &worker->source);
    *ARRAY_APPEND(pool->workers, pool->worker_count) = worker;
    return 0;
}

/* How many workers have a job; how many will take one: they are idle, or starting. */
static size_t count_workers(const struct compile_pool *pool, bool busy)
{
    size_t count = 0;
    for (size_t i = 0; i < pool->worker_count; i++)
        count += !pool->workers[i]->confirms && (pool->workers[i]->job != NULL) == busy;
    return count;
}

/* Starts workers for queued jobs that no idle worker, and none that is coming, will take. Returns 0, or ERROR_WORKER
 * if there is no worker at all. */
static int add_workers(struct compile_pool *pool, struct error *error)
{
    struct pool_place *place;
    for (size_t free = count_workers(pool, false);
         pool->queue_count > free && room_of(place = choose_place(pool)) > 0; free++) {
        int status = add_worker(pool, place, false, error);
        if (status != 0)
            return pool->worker_count > 0 ? 0 : status;
    }
    return pool->worker_count == 0 && pool->architectures == NULL
               ? add_worker(pool, &pool->places[0], false, error)
               : 0;
}

/* Kills the worker, removes what it may leave, and frees it. */
static void remove_worker(struct compile_pool *pool, struct pool_worker *worker)
{
    event_loop_remove(pool->loop, &worker->source);
    worker_dismiss(&worker->worker);
    if (worker->folder != NULL && node_is_here(worker->place->node))
        write_file_remove_folder(worker->folder);
    worker->place->workers--;
    for (size_t i = 0; i < pool->worker_count; i++)
        if (pool->workers[i] == worker)
            pool->workers[i] = pool->workers[--pool->worker_count];
    free(worker->folder);
    free(worker);
}

/* Removes the workers that are doing the job. */
static void stop_workers(struct compile_pool *pool, const struct pool_job *job)
{
    for (size_t i = pool->worker_count; i-- > 0;)
        if (pool->workers[i]->job == job)
            remove_worker(pool, pool->workers[i]);
}

/* Kills all workers; those of this machine that are idle end by themselves. */
static void end_workers(struct compile_pool *pool)
{
    while (pool->worker_count > 0) {
        struct pool_worker *worker = pool->workers[pool->worker_count - 1];
        if (worker->job == NULL && node_is_here(worker->place->node))
            worker_end(&worker->worker);
        remove_worker(pool, worker);
    }
}

/* Says in an error of a worker which machine it is of, if there are several. Returns its code. */
static int name_node(const struct pool_worker *worker, struct error *error)
{
    char text[NODE_SUFFIX_BYTES];
    if (error == NULL)
        return ERROR_WORKER;
    const struct error inner = *error;
    const char *suffix = node_suffix(worker->place->node, text);
    if (suffix[0] != '\0')
        (void)error_set_at(error, inner.code, inner.file, inner.line,
                           "%.1300s (a compile worker%s)", inner.message, suffix);
    return inner.code;
}

/* --- greetings --- */

/* A cubin's key says which NVRTC made it, and must not depend on who had time. */
static int refuse_build(const struct compile_pool *pool, const struct pool_worker *worker,
                        const char *build, struct error *error)
{
    if (worker->place->node == NULL)
        return error_set(error, ERROR_DEVICE,
                         "NVRTC or the CUDA headers changed during the run, from %s to %s; run the "
                         "same command again",
                         pool->nvrtc, build);
    return error_set(error, ERROR_DEVICE,
                     "node '%s' has NVRTC %s, and others have %s (what follows the '+' stands for "
                     "the CUDA headers); install the same toolkit on all, or choose it with "
                     "AUTOTUNE_NVRTC",
                     worker->place->node->host, build, pool->nvrtc);
}

static bool is_event(const json_t *message, const char *event)
{
    return strcmp(json_text_member(message, "event"), event) == 0;
}

/* Takes a message of a worker that has not greeted yet: returns 1, 0 if it is not a greeting, the
 * error that it is, or ERROR_DEVICE for another NVRTC than the other workers have. */
static int greet(struct compile_pool *pool, struct pool_worker *worker, const json_t *message,
                 struct error *error)
{
    const char *build = json_string_value(json_object_get(message, "nvrtc"));
    json_t *architectures = json_object_get(message, "architectures");
    int status = message_error(message, error);
    if (status != 0)
        return name_node(worker, error);
    if (!is_event(message, "ready") || build == NULL || json_array_size(architectures) == 0)
        return 0;
    if (pool->architectures != NULL && strcmp(build, pool->nvrtc) != 0) {
        settle_entries(pool, INT64_MAX, false);
        pool->toolkit_changed = true;
        return refuse_build(pool, worker, build, error);
    }
    worker->ready = true;
    worker->folder = alloc_string(json_string_value(json_object_get(message, "folder")));
    if (worker->confirms)
        worker->place->confirmed_ns = worker->began_ns;
    pool->failed_starts = 0;
    if (pool->architectures == NULL) {
        (void)snprintf(pool->nvrtc, sizeof pool->nvrtc, "%s", build);
        pool->architectures = json_incref(architectures);
    }
    return 1;
}

/* The worker of that machine that was started to confirm its toolkit; NULL: there is none. */
static struct pool_worker *find_confirming(const struct compile_pool *pool,
                                           const struct pool_place *place)
{
    for (size_t i = 0; i < pool->worker_count; i++)
        if (pool->workers[i]->confirms && pool->workers[i]->place == place)
            return pool->workers[i];
    return NULL;
}

int compile_pool_confirm(struct compile_pool *pool, struct error *error)
{
    int64_t since_ns = clock_ns();
    int status = 0;
    for (size_t i = 0; i < pool->place_count && pool->unconfirmed_count > 0; i++) {
        struct pool_place *place = &pool->places[i];
        struct pool_worker *worker;
        while (status == 0 && place->confirmed_ns < since_ns && !is_lost(place)) {
            if (find_confirming(pool, place) == NULL)
                status = add_worker(pool, place, true, error);
            if (status == 0)
                status = event_loop_step(pool->loop, EVENT_NEVER, error);
            if ((worker = find_confirming(pool, place)) != NULL && worker->ready)
                remove_worker(pool, worker);
        }
    }
    if (status == 0)
        settle_entries(pool, since_ns, true);
    return status;
}

bool compile_pool_toolkit_changed(const struct compile_pool *pool)
{
    return pool->toolkit_changed;
}

/* --- giving jobs --- */

static json_t *text_array(char *const *texts, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_string(texts[i]));
    return array;
}

/* Sends the job, which is not queued any more, to an idle worker. One that is gone shows at the next reading. */
static void give(struct compile_pool *pool, struct pool_worker *worker, struct pool_job *job)
{
    const struct options *options = &job->options;
    json_t *request =
        json_pack("{s:s, s:s, s:s, s:o}", "do", "compile", "arch", job->arch, "key", job->job.key,
                  "options", text_array(options->items, options->count));
    if (options->header_count > 0) {
        json_object_set_new(request, "headers",
                            text_array(options->headers, options->header_count));
        json_object_set_new(request, "definitions",
                            json_integer((json_int_t)options->definition_count));
    }
    json_t *files = json_array();
    json_t *ways = json_array();
    worker->job = job;
    (void)worker_starved_ns(&worker->worker);
    for (size_t i = 0; i < job->source->file_count; i++) {
        const struct source_file *file = &job->source->files[i];
        worker_keep(&worker->worker, file->hash, file->text, file->bytes);
        json_array_append_new(files, json_pack("[s, s]", file->path, file->hash));
    }
    for (size_t i = 0; i < job->source->way_count; i++) {
        const struct source_way *way = &job->source->ways[i];
        json_array_append_new(ways,
                              json_pack("[i, s, s?]", (int)way->kind, way->path, way->target));
    }
    json_object_set_new(request, "files", files);
    json_object_set_new(request, "ways", ways);
    worker_send(&worker->worker, request, NULL, 0);
    worker->began_ns = clock_ns(); /* not before: sending may take long on a busy machine */
    worker->source.deadline_ns = worker->began_ns + (int64_t)(pool->compile_timeout_s * 1e9);
}

/* An idle worker of another machine than `place`; NULL: there is none. */
static struct pool_worker *find_idle(const struct compile_pool *pool,
                                     const struct pool_place *place)
{
    for (size_t i = pool->worker_count; i-- > 0;) {
        struct pool_worker *worker = pool->workers[i];
        if (worker->ready && !worker->confirms && worker->job == NULL && worker->place != place)
            return worker;
    }
    return NULL;
}

/* Another worker with the same job; NULL: there is none. */
static struct pool_worker *find_other(const struct compile_pool *pool,
                                      const struct pool_worker *worker)
{
    for (size_t i = 0; i < pool->worker_count && worker->job != NULL; i++)
        if (pool->workers[i] != worker && pool->workers[i]->job == worker->job)
            return pool->workers[i];
    return NULL;
}

/* Whether a job takes so long that its machine may be slow, or hang. */
static bool is_slow(const struct compile_pool *pool, const struct pool_worker *worker)
{
    const struct pool_job *job = worker->job;
    if (job == NULL || find_other(pool, worker) != NULL)
        return false;
    double since_s = (double)(clock_ns() - worker->began_ns) * 1e-9;
    return since_s > PATIENCE_S &&
           since_s > PATIENCE * compile_estimate_mean_s(&pool->estimate, job->kind);
}

/* Of the slow ones that another machine has time for, the one that has had its job for longest. */
static struct pool_worker *find_slow(const struct compile_pool *pool)
{
    struct pool_worker *slow = NULL;
    for (size_t i = 0; i < pool->worker_count; i++) {
        struct pool_worker *worker = pool->workers[i];
        if ((slow == NULL || worker->began_ns < slow->began_ns) && is_slow(pool, worker) &&
            find_idle(pool, worker->place) != NULL)
            slow = worker;
    }
    return slow;
}

/* Gives jobs of slow machines to idle ones as well. */
static int give_twice(struct event_source *source, struct error *error)
{
    struct compile_pool *pool = source->owner;
    struct pool_worker *slow;
    (void)error;
    source->deadline_ns = EVENT_NEVER;
    while ((slow = find_slow(pool)) != NULL) {
        struct pool_worker *worker = find_idle(pool, slow->place);
        give(pool, worker, slow->job);
    }
    return 0;
}

/* Gives queued jobs to idle workers, and starts workers for the rest. As long as nothing is queued and some
 * workers are idle while others are not, slow jobs are looked for. */
static int dispatch(struct event_source *source, struct error *error)
{
    struct compile_pool *pool = source->owner;
    struct pool_worker *worker;
    while (pool->queue_count > 0 && (worker = find_idle(pool, NULL)) != NULL)
        give(pool, worker, dequeue(pool));
    bool look = pool->place_count > 1 && pool->queue_count == 0 && find_idle(pool, NULL) != NULL &&
                count_workers(pool, true) > 0;
    if (!look)
        source->deadline_ns = EVENT_NEVER;
    else if (source->deadline_ns == EVENT_NEVER)
        source->deadline_ns = clock_ns() + LOOK_NS;
    return add_workers(pool, error);
}

/* --- losses --- */

static void note_time(struct compile_pool *pool, const struct pool_worker *worker)
{
    double took_s = (double)(clock_ns() - worker->began_ns) * 1e-9;
    compile_estimate_done(&pool->estimate, worker->job->kind, took_s);
    worker->place->busy_s += took_s;
    worker->place->jobs++;
}

/* Fails the job of a worker that was lost for `reason`; one that was killed from outside deserves
 * another try. */
static void fail_lost_job(struct compile_pool *pool, struct pool_job *job, const char *reason,
                          bool killed)
{
    char text[WORKER_REASON_BYTES + 64];
    if (killed && ++job->kills < WORKER_KILL_LIMIT) {
        enqueue(pool, job, true);
        return;
    }
    job->job.killed = killed;
    (void)snprintf(text, sizeof text, "the compiler %s%s", reason,
                   strstr(reason, "signal 6 ") != NULL
                       ? ", as when it would take more memory than it may"
                       : "");
    fail_job(pool, job, ERROR_WORKER, text);
}

/*
 * Removes a worker that died (`reason` NULL), is stopped, passed its deadline or cannot be trusted.
 * The next job that needs a worker starts another. Returns 0, or ERROR_WORKER once several in a row
 * never became ready.
 */
static int lose(struct compile_pool *pool, struct pool_worker *worker, const char *reason,
                struct error *error)
{
    char end[WORKER_REASON_BYTES];
    struct pool_job *job = worker->job;
    struct pool_worker *other = find_other(pool, worker);
    bool killed = worker_is_stopped(&worker->worker);
    if (!worker->ready)
        pool->failed_starts++;
    if (reason == NULL)
        killed = worker_reap(&worker->worker, end);
    if (other == NULL && job != NULL) /* otherwise that one goes on with it */
        note_time(pool, worker);
    remove_worker(pool, worker);
    if (job != NULL && other == NULL)
        fail_lost_job(pool, job, reason != NULL ? reason : end, killed);
    if (pool->failed_starts < START_FAILURES)
        return 0;
    return error_set(error, ERROR_WORKER,
                     "compile workers end before they are ready; run `autotune worker compile` to "
                     "see why");
}

/* Its deadline has passed. It is lost unless it, or this process, had to wait for a processor. */
static int expire(struct event_source *source, struct error *error)
{
    struct pool_worker *worker = source->owner;
    struct compile_pool *pool = worker->pool;
    char reason[64];
    int64_t starved_ns = worker_starved_ns(&worker->worker);
    if (starved_ns >= WORKER_STARVED_NS) {
        source->deadline_ns = clock_ns() + starved_ns;
        return 0;
    }
    double timeout_s = worker->job != NULL ? pool->compile_timeout_s : ready_timeout_s();
    if (worker_was_asleep(source->deadline_ns)) {
        source->deadline_ns = clock_ns() + (int64_t)(timeout_s * 1e9);
        return 0;
    }
    if (worker_is_stopped(&worker->worker))
        return lose(pool, worker, "was stopped by a signal", error);
    if (worker->job != NULL && find_other(pool, worker) == NULL)
        worker->job->job.timed_out = true;
    (void)snprintf(reason, sizeof reason, "did not end within %g s", timeout_s);
    return lose(pool, worker, reason, error);
}

/* --- answers --- */

/* The first answer counts: the other worker with the job is slow, and is not waited for. */
static void take_job(struct compile_pool *pool, struct pool_worker *worker)
{
    struct pool_worker *other = find_other(pool, worker);
    note_time(pool, worker);
    if (other != NULL)
        remove_worker(pool, other);
    worker->job = NULL;
}

/* Takes the answer to a job: returns 1, 0 if it is not that, or an error that is not the variant's fault:
 * of the cache, or of the worker's folder for headers. */
static int take_result(struct compile_pool *pool, struct pool_worker *worker, const json_t *message,
                       struct error *error)
{
    struct pool_job *job = worker->job;
    struct channel *channel = &worker->worker.channel;
    struct error reason;
    int status = message_error(message, &reason);
    if (status == 0 && is_event(message, "compiled"))
        status = store_result(pool, job, channel->bytes, channel->byte_count, error);
    else if (status == 0)
        return 0;
    else if (status != ERROR_RECORD) {
        fail_job(pool, job, (enum error_code)status, reason.message);
        status = 1;
    } else if (error != NULL) {
        *error = reason;
        (void)name_node(worker, error);
    }
    if (status != 0)
        take_job(pool, worker);
    return status;
}

/* Takes one message: returns 1, 0 if it makes no sense, or an error that ends the run. */
static int take_message(struct compile_pool *pool, struct pool_worker *worker,
                        const json_t *message, struct error *error)
{
    worker->source.deadline_ns = EVENT_NEVER;
    if (worker->job != NULL)
        return take_result(pool, worker, message, error);
    return worker->ready ? 0 : greet(pool, worker, message, error);
}

/* Takes what a worker has sent, and gives it its next job. A compiler that ran out of memory cannot be relied
 * on after that; nor is the source to blame, so that it is not refused. */
static int take_messages(struct event_source *source, struct error *error)
{
    struct pool_worker *worker = source->owner;
    struct compile_pool *pool = worker->pool;
    json_t *message;
    int status = channel_fill(&worker->worker.channel, NULL);
    if (status != 1)
        return lose(pool, worker, NULL, error);
    while ((status = channel_next(&worker->worker.channel, &message, NULL)) == 1) {
        struct error reason;
        bool out_of_memory = worker->job != NULL && message_error(message, &reason) == ERROR_MEMORY;
        status = out_of_memory ? 0 : take_message(pool, worker, message, error);
        json_decref(message);
        if (status < 0)
            return status;
        if (status == 0)
            return lose(pool, worker,
                        out_of_memory ? "ran out of memory" : "sent an invalid message", error);
    }
    return status < 0 ? lose(pool, worker, "sent an invalid message", error)
                      : dispatch(&pool->source, error);
}

/* --- the pool --- */

int compile_pool_new(struct compile_pool **pool, struct event_loop *loop,
                     const struct compile_pool_options *options, struct error *error)
{
    struct compile_pool *new = alloc_zeroed(1, sizeof *new);
    new->loop = loop;
    new->cache_folder = alloc_string(options->cache_folder);
    new->cache_is_optional = options->cache_is_optional;
    new->compile_timeout_s = options->compile_timeout_s;
    if (options->arch != NULL)
        (void)snprintf(new->arch, sizeof new->arch, "%s", options->arch);
    make_places(new, options);
    new->source = (struct event_source){.descriptor = -1,
                                        .deadline_ns = EVENT_NEVER,
                                        .owner = new,
                                        .prepare = dispatch,
                                        .expired = give_twice};
    event_loop_add(loop, &new->source);
    *pool = new;
    int status = add_worker(new, &new->places[0], false, error);
    if (status != 0) {
        compile_pool_free(new);
        *pool = NULL;
    }
    return status;
}

void compile_pool_free(struct compile_pool *pool)
{
    if (pool == NULL)
        return;
    end_workers(pool);
    event_loop_remove(pool->loop, &pool->source);
    json_decref(pool->architectures);
    free(pool->places);
    free(pool->workers);
    tdestroy(pool->by_key, free_job);
    compile_estimate_release(&pool->estimate);
    settle_entries(pool, INT64_MAX, true);
    free(pool->unconfirmed);
    free(pool->cache_folder);
    free(pool);
}

/* --- NVRTC --- */

int compile_pool_nvrtc_version(struct compile_pool *pool, const char **version, struct error *error)
{
    int status = 0;
    while (pool->architectures == NULL && status == 0)
        status = event_loop_step(pool->loop, EVENT_NEVER, error);
    *version = pool->nvrtc;
    return status;
}

int compile_pool_set_arch(struct compile_pool *pool, const char *arch, struct error *error)
{
    const char *version;
    int status = compile_pool_nvrtc_version(pool, &version, error);
    if (status != 0 || strcmp(pool->arch, arch) == 0)
        return status;
    const char *digits = strpbrk(arch, "0123456789");
    long capability = digits != NULL ? strtol(digits, NULL, 10) : 0;
    size_t index;
    json_t *known;
    char *list = NULL;
    json_array_foreach(pool->architectures, index, known)
    {
        if (json_integer_value(known) == capability) {
            (void)snprintf(pool->arch, sizeof pool->arch, "%s", arch);
            free(list);
            return 0;
        }
        alloc_append(&list, "%ssm_%d", index > 0 ? ", " : "", (int)json_integer_value(known));
    }
    status = error_set(error, ERROR_USAGE, "NVRTC %s does not compile for '%s'; it knows %s",
                       pool->nvrtc, arch, list);
    free(list);
    return status;
}

/* --- requests --- */

/* What goes into a message must be UTF-8. */
static int check_texts(const struct source *source, const struct options *options,
                       struct error *error)
{
    const char *bad = NULL;
    for (size_t i = 0; i < source->file_count && bad == NULL; i++)
        bad = json_text_is_utf8(source->files[i].path) ? NULL : source->files[i].path;
    for (size_t i = 0; i < options->count && bad == NULL; i++)
        bad = json_text_is_utf8(options->items[i]) ? NULL : options->items[i];
    if (bad == NULL)
        return 0;
    return error_set(error, ERROR_CONFIG, "path or option '%s' is not UTF-8; rename the file", bad);
}

/* The key of the job with these; waits for NVRTC's version. */
static int make_key(struct compile_pool *pool, const char *arch, const char *source_hash,
                    const struct options *options, char key[HASH_BYTES], struct error *error)
{
    const char *version;
    int status = compile_pool_nvrtc_version(pool, &version, error);
    if (status == 0)
        cubin_cache_key(source_hash, (const char *const *)options->items, options->count, arch,
                        version, key);
    return status;
}

/* Takes the result from the cache; false if it is not there. The image is read as well, so that damage shows
 * while there is a compiler to mend it. */
static bool take_cached(struct compile_pool *pool, struct pool_job *job)
{
    compilation_release(&job->job.compilation);
    if (!cubin_cache_read(job->job.path, false, &job->job.compilation))
        return false;
    job->job.has_cubin = job->job.compilation.cubin_bytes > 0;
    job->job.done = job->job.cached = true;
    pool->done_count++;
    return true;
}

int compile_pool_request(struct compile_pool *pool, const struct source *source,
                         const struct options *options, bool urgent, struct compile_job **job,
                         struct error *error)
{
    char key[HASH_BYTES];
    bool known;
    int status = make_key(pool, pool->arch, source->text_hash, options, key, error);
    if (status == 0)
        status = check_texts(source, options, error);
    if (status != 0)
        return status;
    struct pool_job *new = find_or_add(pool, key, &known);
    *job = &new->job;
    if (known && !new->unreadable)
        return 0;
    new->unreadable = new->job.done = new->job.has_cubin = new->job.cached = false;
    if (take_cached(pool, new))
        return 0;
    new->source = source;
    (void)snprintf(new->arch, sizeof new->arch, "%s", pool->arch);
    options_copy(&new->options, options);
    new->kind = compile_estimate_kind(&pool->estimate, source->text_hash);
    enqueue(pool, new, urgent);
    /* at once: more requests follow before the next wait */
    return add_workers(pool, error);
}

bool compile_pool_distrust(struct compile_job *job)
{
    enum { MOST = 3 };
    ((struct pool_job *)job)->unreadable = job->done;
    return ++job->distrusts <= MOST;
}

struct compile_job *compile_pool_refuse(struct compile_pool *pool, const struct error *reason)
{
    char key[HASH_BYTES];
    char text[ERROR_TEXT_BYTES];
    bool known;
    (void)error_text(reason, text);
    hash_of(text, strlen(text), key);
    struct pool_job *job = find_or_add(pool, key, &known);
    job->job.invalid = true;
    if (!known)
        fail_job(pool, job, reason->code, text);
    return &job->job;
}

/* How a worker was lost is not in the cache: that is kept, so that it is not tried again. */
void compile_pool_drop(struct compile_pool *pool, struct compile_job *job)
{
    struct pool_job *dropped = (struct pool_job *)job;
    if (--dropped->users > 0)
        return;
    pool->held_count--;
    if (job->failure[0] != '\0' && !job->invalid)
        return;
    if (!job->done && !unqueue(pool, dropped))
        stop_workers(pool, dropped);
    (void)tdelete(dropped, &pool->by_key, compare_keys);
    free_job(dropped);
}

/* --- results and waiting --- */

int compile_job_image(const struct compile_job *job, struct compilation *compilation,
                      struct error *error)
{
    size_t count;
    if (job->compilation.cubin != NULL) { /* the cache could not be written */
        char *bytes = cubin_cache_entry(job->key, &job->compilation, &count);
        (void)cubin_cache_parse(job->key, bytes, count, true, compilation);
        free(bytes);
        return 0;
    }
    return cubin_cache_read(job->path, true, compilation)
               ? 0
               : error_set(error, ERROR_RECORD,
                           "cubin '%s' is missing or damaged; run again to recompile it",
                           job->path);
}

int compile_pool_wait_until(struct compile_pool *pool, const struct compile_job *job,
                            int64_t until_ns, struct error *error)
{
    int status = 0;
    while (!job->done && status == 0 && (until_ns == EVENT_NEVER || clock_ns() < until_ns))
        status = event_loop_step(pool->loop, until_ns, error);
    return status;
}

int compile_pool_wait(struct compile_pool *pool, const struct compile_job *job, struct error *error)
{
    return compile_pool_wait_until(pool, job, EVENT_NEVER, error);
}

/* --- how far it is --- */

struct compile_pool_counts compile_pool_counts(const struct compile_pool *pool)
{
    return (struct compile_pool_counts){pool->held_count, pool->queue_count, pool->done_count,
                                        most_workers(pool), pool->written_bytes};
}

struct compile_pool_share compile_pool_share(const struct compile_pool *pool, size_t number)
{
    const struct pool_place *place = &pool->places[number];
    return (struct compile_pool_share){place->busy_s, place->jobs, place->limit};
}

double compile_pool_left_s(const struct compile_pool *pool, size_t *jobs)
{
    *jobs = pool->queue_count + count_workers(pool, true);
    return compile_estimate_left_s(&pool->estimate, most_workers(pool));
}
