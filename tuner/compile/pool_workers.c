/* The workers of a compile pool: starting them on machines that have room, which of them gets which job,
 * and seeing it through: answers, deadlines, lost workers. */
#include "compile/pool_state.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/json_text.h"
#include "base/write_file.h"
#include "compile/staging.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READY_TIMEOUT_S = 60, START_FAILURES = 3 };

/* A job that takes longer than this, and so many times its kind's average, is given to an idle machine,
 * too; how often jobs are looked at. */
#define PATIENCE_S 1.0
#define LOOK_NS 250000000
enum { PATIENCE = 3 };

/* --- machines --- */

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

size_t pool_workers_limit(const struct compile_pool *pool)
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
    pool->starting_count++;
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

int pool_workers_add_first(struct compile_pool *pool, struct error *error)
{
    return add_worker(pool, &pool->places[0], false, error);
}

int pool_workers_add_for_queue(struct compile_pool *pool, struct error *error)
{
    while (pool->queue_count > pool->idle_count + pool->starting_count && !pool->full) {
        struct pool_place *place = choose_place(pool);
        pool->full = room_of(place) == 0;
        int status = pool->full ? 0 : add_worker(pool, place, false, error);
        if (status != 0)
            return pool->worker_count > 0 ? 0 : status;
    }
    return pool->worker_count == 0 && pool->architectures == NULL
               ? pool_workers_add_first(pool, error)
               : 0;
}

static void take_from(struct pool_worker **workers, size_t *count, const struct pool_worker *worker)
{
    for (size_t i = 0; i < *count; i++)
        if (workers[i] == worker)
            workers[i] = workers[--*count];
}

/* It has no job. */
static void rest(struct compile_pool *pool, struct pool_worker *worker)
{
    *ARRAY_APPEND(pool->idle, pool->idle_count) = worker;
}

/* Kills the worker, removes what it may leave, and frees it. */
static void remove_worker(struct compile_pool *pool, struct pool_worker *worker)
{
    event_loop_remove(pool->loop, &worker->source);
    worker_dismiss(&worker->worker);
    if (worker->folder != NULL && node_is_here(worker->place->node))
        write_file_remove_folder(worker->folder);
    worker->place->workers--;
    pool->full = false;
    pool->starting_count -= !worker->ready;
    take_from(pool->idle, &pool->idle_count, worker);
    take_from(pool->workers, &pool->worker_count, worker);
    free(worker->folder);
    free(worker);
}

void pool_workers_stop(struct compile_pool *pool, const struct pool_job *job)
{
    for (size_t i = pool->worker_count; i-- > 0;)
        if (pool->workers[i]->job == job)
            remove_worker(pool, pool->workers[i]);
}

void pool_workers_end(struct compile_pool *pool)
{
    while (pool->worker_count > 0) {
        struct pool_worker *worker = pool->workers[pool->worker_count - 1];
        if (worker->job == NULL && node_is_here(worker->place->node))
            worker_end(&worker->worker);
        remove_worker(pool, worker);
    }
    event_loop_remove(pool->loop, &pool->source);
    json_decref(pool->architectures);
    free(pool->places);
    free(pool->workers);
    free(pool->idle);
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
        pool_settle_entries(pool, INT64_MAX, false);
        pool->toolkit_changed = true;
        return refuse_build(pool, worker, build, error);
    }
    worker->ready = true;
    worker->folder = alloc_string(json_string_value(json_object_get(message, "folder")));
    pool->starting_count--;
    if (worker->confirms)
        worker->place->confirmed_ns = worker->began_ns;
    else
        rest(pool, worker);
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
        pool_settle_entries(pool, since_ns, true);
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

/* Sends the job, which is not queued any more, to a worker that is not idle any more. One that is gone shows at
 * the next reading. */
static void give(struct compile_pool *pool, struct pool_worker *worker, struct pool_job *job)
{
    const struct options *options = &job->options;
    json_t *request = json_pack("{s:s, s:s, s:o}", "do", "compile", "arch", job->arch, "options",
                                text_array(options->items, options->count));
    if (!job->wants_ptx)
        json_object_set_new(request, "key", json_string(job->job.key));
    if (options->header_count > 0) {
        json_object_set_new(request, "headers",
                            text_array(options->headers, options->header_count));
        json_object_set_new(request, "definitions",
                            json_integer((json_int_t)options->definition_count));
    }
    staging_describe(job->source, request);
    worker->job = job;
    (void)worker_starved_ns(&worker->worker);
    for (size_t i = 0; i < job->source->file_count; i++) {
        const struct source_file *file = &job->source->files[i];
        worker_keep(&worker->worker, file->hash, file->text, file->bytes);
    }
    worker_send(&worker->worker, request, NULL, 0);
    worker->began_ns = clock_ns(); /* not before: sending may take long on a busy machine */
    worker->source.deadline_ns = worker->began_ns + (int64_t)(pool->compile_timeout_s * 1e9);
}

/* An idle worker of another machine; NULL: there is none. */
static struct pool_worker *find_idle(const struct compile_pool *pool,
                                     const struct pool_place *place)
{
    for (size_t i = pool->idle_count; i-- > 0;)
        if (pool->idle[i]->place != place)
            return pool->idle[i];
    return NULL;
}

/* Whether a job takes so long that its machine may be slow, or hang. */
static bool is_slow(const struct compile_pool *pool, const struct pool_worker *worker)
{
    const struct pool_job *job = worker->job;
    if (job == NULL || job->twice)
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
        take_from(pool->idle, &pool->idle_count, worker);
        slow->job->twice = worker->second = true;
        give(pool, worker, slow->job);
    }
    return 0;
}

/* Gives queued jobs to idle workers, and starts workers for the rest. As long as nothing is queued and some
 * workers are idle while others are not, slow jobs are looked for. */
static int dispatch(struct event_source *source, struct error *error)
{
    struct compile_pool *pool = source->owner;
    while (pool->queue_count > 0 && pool->idle_count > 0)
        give(pool, pool->idle[--pool->idle_count], pool_dequeue(pool));
    bool look = pool->place_count > 1 && pool->queue_count == 0 && pool->idle_count > 0 &&
                pool->idle_count + pool->starting_count < pool->worker_count;
    if (!look)
        source->deadline_ns = EVENT_NEVER;
    else if (source->deadline_ns == EVENT_NEVER)
        source->deadline_ns = clock_ns() + LOOK_NS;
    return pool_workers_add_for_queue(pool, error);
}

void pool_workers_begin(struct compile_pool *pool, const struct compile_pool_options *options)
{
    make_places(pool, options);
    pool->source = (struct event_source){.descriptor = -1,
                                         .deadline_ns = EVENT_NEVER,
                                         .owner = pool,
                                         .prepare = dispatch,
                                         .expired = give_twice};
    event_loop_add(pool->loop, &pool->source);
}

/* Another worker with the same job; NULL: there is none. */
static struct pool_worker *find_other(const struct compile_pool *pool,
                                      const struct pool_worker *worker)
{
    const struct pool_job *job = worker->job;
    for (size_t i = 0; i < pool->worker_count && job != NULL && job->twice; i++)
        if (pool->workers[i] != worker && pool->workers[i]->job == job)
            return pool->workers[i];
    return NULL;
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
        pool_enqueue(pool, job, true);
        return;
    }
    job->job.killed = killed;
    (void)snprintf(text, sizeof text, "the compiler %s%s", reason,
                   strstr(reason, "signal 6 ") != NULL
                       ? ", as when it would take more memory than it may"
                       : "");
    pool_fail(pool, job, ERROR_WORKER, text);
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
    if (other != NULL) /* which goes on with it */
        job->twice = other->second = false;
    else if (job != NULL)
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
    worker->job->twice = worker->second = false;
    worker->job = NULL;
    rest(pool, worker);
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
        status = pool_take_result(pool, job, channel->bytes, channel->byte_count, error);
    else if (status == 0)
        return 0;
    else if (status != ERROR_RECORD) {
        pool_fail(pool, job, (enum error_code)status, reason.message);
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
