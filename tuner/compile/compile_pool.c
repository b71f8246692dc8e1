#include "compile/compile_pool.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cores.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "base/worker.h"
#include "compile/compile_estimate.h"
#include "compile/compile_worker.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A worker gives a disassembler that hangs a minute (base/subprocess.h), and then says so. */
enum { READY_TIMEOUT_S = 60, COUNT_TIMEOUT_S = 90, START_FAILURES = 3 };

/* A job that takes longer than this, and so many times its kind's average, is given to an idle machine,
 * too; how often jobs are looked at. */
#define PATIENCE_S 1.0
#define LOOK_NS 250000000
enum { PATIENCE = 3 };

/* A source. The jobs of its variants share it: there may be two for each core of a cluster. */
struct source_text {
    size_t users;
    char hash[HASH_BYTES];
    char *text;
};

struct queued_job {
    struct compile_job job;  /* first: pointers to it are pointers to this */
    struct queued_job *next; /* in the queue */
    int kills;               /* of its workers, from outside: it is tried again */
    size_t users;            /* requests that were not dropped */
    bool twice;              /* two workers have it; the first answer counts */
    size_t kind;             /* for the estimate */
    enum compile_step step;  /* the next, or the one being done */
    char arch[16];
    char *name; /* these three until it is done */
    struct source_text *source;
    struct options options;
};

/* A machine. */
struct compile_place {
    struct node *node; /* NULL: this one */
    size_t limit;      /* of its workers */
    size_t workers;
    double busy_s; /* of all that it had */
    size_t jobs;
};

struct compile_worker {
    struct compile_pool *pool;
    struct compile_place *place;
    struct event_source source; /* its deadline: for the greeting, or for the job */
    struct worker worker;
    bool ready;
    struct queued_job *job; /* being done */
    bool second;            /* another worker was given it before */
    int64_t began_ns;       /* that */
};

struct compile_pool {
    struct event_loop *loop;
    struct event_source source; /* hands out jobs before each wait */
    struct compile_place *places;
    size_t place_count;
    double timeout_s;
    char *cache_folder;
    char arch[16];
    char nvrtc[16];
    json_t *architectures; /* of the first greeting */
    struct compile_worker **workers;
    size_t worker_count;
    struct compile_worker **idle; /* those that are ready and have no job */
    size_t idle_count;
    size_t starting_count; /* of workers that are not ready yet */
    bool full;             /* no machine has room for another worker */
    int failed_starts;     /* in a row */
    void *by_key;          /* tsearch's tree of all jobs */
    size_t held_count;     /* of jobs that have users */
    uint64_t written_bytes;
    struct source_text *source_text; /* of the last request */
    struct queued_job *first;        /* of the queue: not yet given to a worker */
    struct queued_job *last;
    size_t queue_count;
    size_t queued_with_headers; /* of the queue */
    uint64_t done_count;
    struct compile_estimate estimate;
};

/* --- workers --- */

static double ready_timeout_s(void)
{
    return worker_timeout_s(READY_TIMEOUT_S);
}

static int take_messages(struct event_source *source, struct error *error);
static int expire(struct event_source *source, struct error *error);
static int dispatch(struct event_source *source, struct error *error);
static int give_twice(struct event_source *source, struct error *error);

static size_t free_places(const struct compile_place *place)
{
    bool lost = place->node != NULL && place->node->lost;
    return lost || place->workers >= place->limit ? 0 : place->limit - place->workers;
}

/* The one with the most cores to spare. */
static struct compile_place *choose_place(const struct compile_pool *pool)
{
    struct compile_place *best = &pool->places[0];
    for (size_t i = 1; i < pool->place_count; i++)
        if (free_places(&pool->places[i]) > free_places(best))
            best = &pool->places[i];
    return best;
}

static int add_worker(struct compile_pool *pool, struct compile_place *place, struct error *error)
{
    struct compile_worker *worker = alloc_zeroed(1, sizeof *worker);
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

/* Starts workers for queued jobs that no idle worker, and none that is coming, will take. */
static int add_workers(struct compile_pool *pool, struct error *error)
{
    while (pool->queue_count > pool->idle_count + pool->starting_count && !pool->full) {
        struct compile_place *place = choose_place(pool);
        pool->full = free_places(place) == 0;
        int status = pool->full ? 0 : add_worker(pool, place, error);
        if (status != 0)
            return pool->worker_count > 0 ? 0 : status;
    }
    if (pool->worker_count == 0 && pool->architectures == NULL)
        return add_worker(pool, &pool->places[0], error);
    return 0;
}

static void make_places(struct compile_pool *pool, const struct compile_pool_options *options)
{
    size_t count = nodes_count(options->nodes);
    pool->place_count = count > 0 ? count : 1;
    pool->places = alloc_zeroed(pool->place_count, sizeof *pool->places);
    pool->places[0].limit = cores_usable();
    for (size_t i = 0; i < pool->place_count; i++) {
        struct compile_place *place = &pool->places[i];
        place->node = nodes_at(options->nodes, i);
        if (place->node != NULL)
            place->limit = place->node->cores;
        if (options->workers > 0)
            place->limit = options->workers;
    }
}

int compile_pool_new(struct compile_pool **pool, struct event_loop *loop,
                     const struct compile_pool_options *options, struct error *error)
{
    struct compile_pool *new = alloc_zeroed(1, sizeof *new);
    new->loop = loop;
    new->source = (struct event_source){.descriptor = -1,
                                        .deadline_ns = EVENT_NEVER,
                                        .owner = new,
                                        .prepare = dispatch,
                                        .expired = give_twice};
    event_loop_add(loop, &new->source);
    make_places(new, options);
    new->timeout_s = options->compile_timeout_s;
    new->cache_folder = alloc_string(options->cache_folder);
    new->estimate.counting = options->instructions;
    if (options->arch != NULL)
        (void)snprintf(new->arch, sizeof new->arch, "%s", options->arch);
    *pool = new;
    int status = add_worker(new, &new->places[0], error);
    if (status != 0) {
        compile_pool_free(new);
        *pool = NULL;
    }
    return status;
}

int compile_pool_start(struct compile_pool *pool, struct error *error)
{
    struct compile_place *place;
    int status = 0;
    while (status == 0 && free_places(place = choose_place(pool)) > 0)
        status = add_worker(pool, place, error);
    return pool->worker_count > 0 ? 0 : status;
}

static void take_from(struct compile_worker **workers, size_t *count,
                      const struct compile_worker *worker)
{
    for (size_t i = 0; i < *count; i++)
        if (workers[i] == worker)
            workers[i] = workers[--*count];
}

/* Kills the worker, removes what it may leave of its job, and takes it out of the pool. */
static void remove_worker(struct compile_pool *pool, struct compile_worker *worker)
{
    event_loop_remove(pool->loop, &worker->source);
    worker_dismiss(&worker->worker);
    worker->place->workers--;
    pool->full = false;
    pool->starting_count -= !worker->ready;
    take_from(pool->idle, &pool->idle_count, worker);
    take_from(pool->workers, &pool->worker_count, worker);
    if (worker->job != NULL && node_is_here(worker->place->node)) {
        char *temporary = alloc_format("%s" COMPILE_WORKER_TEMPORARY, worker->job->job.path);
        (void)unlink(temporary);
        free(temporary);
    }
    free(worker);
}

static void leave_source(struct source_text *source)
{
    if (source == NULL || --source->users > 0)
        return;
    free(source->text);
    free(source);
}

/* The source with that hash, which has one user more now. */
static struct source_text *share_source(struct compile_pool *pool, const char *text,
                                        const char *hash)
{
    if (pool->source_text == NULL || strcmp(pool->source_text->hash, hash) != 0) {
        leave_source(pool->source_text);
        pool->source_text = alloc_zeroed(1, sizeof *pool->source_text);
        pool->source_text->users = 1;
        pool->source_text->text = alloc_string(text);
        (void)snprintf(pool->source_text->hash, HASH_BYTES, "%s", hash);
    }
    pool->source_text->users++;
    return pool->source_text;
}

/* What only the compiler needs. */
static void release_request(struct queued_job *job)
{
    options_release(&job->options);
    free(job->name);
    leave_source(job->source);
    job->name = NULL;
    job->source = NULL;
}

static void free_job(void *node)
{
    struct queued_job *job = node;
    compilation_release(&job->job.compilation);
    release_request(job);
    free(job->job.path);
    free(job);
}

void compile_pool_free(struct compile_pool *pool)
{
    if (pool == NULL)
        return;
    while (pool->worker_count > 0) {
        struct compile_worker *worker = pool->workers[pool->worker_count - 1];
        if (worker->job == NULL && node_is_here(worker->place->node))
            worker_end(&worker->worker);
        remove_worker(pool, worker);
    }
    event_loop_remove(pool->loop, &pool->source);
    tdestroy(pool->by_key, free_job);
    leave_source(pool->source_text);
    json_decref(pool->architectures);
    compile_estimate_release(&pool->estimate);
    free(pool->workers);
    free(pool->idle);
    free(pool->places);
    free(pool->cache_folder);
    free(pool);
}

/* --- jobs --- */

static void end_job(struct compile_pool *pool, struct queued_job *job)
{
    release_request(job);
    job->job.done = true;
    pool->done_count++;
}

/* Whether the cubin's instructions are to be counted, and are not in its entry. */
static bool needs_counting(const struct compile_pool *pool, const struct compilation *compilation)
{
    bool missing = false;
    for (size_t i = 0; i < compilation->kernel_count; i++)
        missing = missing || compilation->kernels[i].instructions == NULL;
    return pool->estimate.counting && missing;
}

/* Takes the result from the cache; false where it is not there. The image is read as well, so that
 * damage shows while there is a compiler to mend it. The job is done, unless its instructions have
 * to be counted next. */
static bool take_from_cache(struct compile_pool *pool, struct queued_job *job)
{
    struct compilation *compilation = &job->job.compilation;
    bool found = false;
    compilation_release(compilation);
    (void)cubin_cache_check(job->job.path, compilation, &found, NULL);
    if (!found)
        return false;
    job->job.has_cubin = compilation->cubin_bytes > 0;
    if (needs_counting(pool, compilation))
        job->step = COMPILE_STEP_COUNT;
    else
        end_job(pool, job);
    return true;
}

static void fail_job(struct compile_pool *pool, struct queued_job *job, const char *reason)
{
    (void)snprintf(job->job.failure, sizeof job->job.failure, "%.250s", reason);
    end_job(pool, job);
}

static int compare_keys(const void *a, const void *b)
{
    const struct compile_job *first = a;
    const struct compile_job *second = b;
    return strcmp(first->key, second->key);
}

static bool compiles_headers(const struct queued_job *job)
{
    return job->step == COMPILE_STEP_COMPILE && job->options.header_count > 0;
}

static void enqueue(struct compile_pool *pool, struct queued_job *job, bool urgent)
{
    pool->queue_count++;
    pool->queued_with_headers += compiles_headers(job);
    job->next = urgent ? pool->first : NULL;
    if (urgent || pool->first == NULL)
        pool->first = job;
    else
        pool->last->next = job;
    if (job->next == NULL)
        pool->last = job;
}

static struct queued_job *dequeue(struct compile_pool *pool)
{
    struct queued_job *job = pool->first;
    pool->first = job->next;
    pool->queue_count--;
    pool->queued_with_headers -= compiles_headers(job);
    return job;
}

/* What goes into a message must be UTF-8. */
static int check_texts(const char *name, const struct options *options, struct error *error)
{
    const char *bad = json_text_is_utf8(name) ? NULL : name;
    for (size_t i = 0; i < options->count && bad == NULL; i++)
        bad = json_text_is_utf8(options->items[i]) ? NULL : options->items[i];
    if (bad == NULL)
        return 0;
    return error_set(error, ERROR_CONFIG, "path or option '%s' is not UTF-8; rename the file", bad);
}

/* The job with that key, which has one user more now; NULL if there is none. */
static struct queued_job *find_known(struct compile_pool *pool, const char *key)
{
    struct compile_job wanted = {0};
    memcpy(wanted.key, key, sizeof wanted.key);
    struct queued_job **known = tfind(&wanted, &pool->by_key, compare_keys);
    if (known == NULL)
        return NULL;
    pool->held_count += (*known)->users++ == 0;
    return *known;
}

static struct queued_job *add_job(struct compile_pool *pool, const char *key)
{
    struct queued_job *new = alloc_zeroed(1, sizeof *new);
    memcpy(new->job.key, key, sizeof new->job.key);
    new->job.path = cubin_cache_path(pool->cache_folder, key);
    new->users = 1;
    pool->held_count++;
    if (tsearch(new, &pool->by_key, compare_keys) == NULL)
        abort();
    return new;
}

struct compile_job *compile_pool_refuse(struct compile_pool *pool, const struct error *reason)
{
    char key[HASH_BYTES];
    hash_of(reason->message, strlen(reason->message), key);
    struct queued_job *job = find_known(pool, key);
    if (job == NULL) {
        job = add_job(pool, key);
        job->job.invalid = true;
        fail_job(pool, job, reason->message);
    }
    return &job->job;
}

int compile_pool_request(struct compile_pool *pool, const char *name, const char *text,
                         const char *source_hash, const struct options *options, bool urgent,
                         struct compile_job **job, struct error *error)
{
    char key[HASH_BYTES];
    const char *version;
    int status = compile_pool_nvrtc_version(pool, &version, error);
    if (status == 0)
        status = check_texts(name, options, error);
    if (status != 0)
        return status;
    cubin_cache_key(source_hash, (const char *const *)options->items, options->count, pool->arch,
                    version, key);
    struct queued_job *known = find_known(pool, key);
    struct queued_job *new = known == NULL ? add_job(pool, key) : NULL;
    *job = known != NULL ? &known->job : &new->job;
    if (known != NULL)
        return 0;
    bool compiled = take_from_cache(pool, new);
    new->job.cached = new->job.done;
    if (new->job.cached)
        return 0;
    if (!compiled) {
        new->name = alloc_string(name);
        new->source = share_source(pool, text, source_hash);
        (void)snprintf(new->arch, sizeof new->arch, "%s", pool->arch);
        options_copy(&new->options, options);
    }
    new->kind = compile_estimate_kind(&pool->estimate, source_hash);
    compile_estimate_add(&pool->estimate, new->kind, new->step);
    enqueue(pool, new, urgent);
    return add_workers(pool, error); /* at once: more requests follow before the next wait */
}

bool compile_pool_has(struct compile_pool *pool, const char *source_hash,
                      const struct options *options)
{
    struct compile_job wanted;
    const char *version;
    if (compile_pool_nvrtc_version(pool, &version, NULL) != 0)
        return false;
    cubin_cache_key(source_hash, (const char *const *)options->items, options->count, pool->arch,
                    version, wanted.key);
    if (tfind(&wanted, &pool->by_key, compare_keys) != NULL)
        return true;
    char *path = cubin_cache_path(pool->cache_folder, wanted.key);
    bool cached = access(path, R_OK) == 0;
    free(path);
    return cached;
}

/* Takes the job out of the queue; false if it is not there. */
static bool unqueue(struct compile_pool *pool, const struct queued_job *job)
{
    struct queued_job *before = NULL;
    struct queued_job *at = pool->first;
    for (; at != NULL && at != job; at = at->next)
        before = at;
    if (at == NULL)
        return false;
    *(before != NULL ? &before->next : &pool->first) = at->next;
    if (pool->last == at)
        pool->last = before;
    pool->queue_count--;
    pool->queued_with_headers -= job->options.header_count > 0;
    return true;
}

static void stop_compiling(struct compile_pool *pool, const struct queued_job *job)
{
    if (unqueue(pool, job))
        return;
    for (size_t i = pool->worker_count; i-- > 0;)
        if (pool->workers[i]->job == job)
            remove_worker(pool, pool->workers[i]);
}

/* A failure that is not in the cache is kept, so that it is not tried again. */
void compile_pool_drop(struct compile_pool *pool, struct compile_job *job)
{
    struct queued_job *dropped = (struct queued_job *)job;
    if (--dropped->users > 0)
        return;
    pool->held_count--;
    if (job->done && !job->has_cubin)
        return;
    if (!job->done)
        stop_compiling(pool, dropped);
    (void)tdelete(job, &pool->by_key, compare_keys);
    free_job(dropped);
}

size_t compile_pool_held(const struct compile_pool *pool)
{
    return pool->held_count;
}

size_t compile_pool_waiting(const struct compile_pool *pool)
{
    return pool->queue_count;
}

uint64_t compile_pool_done_count(const struct compile_pool *pool)
{
    return pool->done_count;
}

uint64_t compile_pool_written_bytes(const struct compile_pool *pool)
{
    return pool->written_bytes;
}

static void count_written(struct compile_pool *pool, const struct compile_job *job)
{
    struct stat information;
    if (stat(job->path, &information) == 0)
        pool->written_bytes += (uint64_t)information.st_size;
}

/* --- messages --- */

static json_t *text_array(char *const *texts, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_string(texts[i]));
    return array;
}

/* What there is to precompile, and whether every worker can expect another job of the kind. */
static void add_headers(const struct compile_pool *pool, const struct options *options,
                        json_t *message)
{
    json_object_set_new(message, "headers", text_array(options->headers, options->header_count));
    json_object_set_new(message, "definitions",
                        json_integer((json_int_t)options->definition_count));
    json_object_set_new(message, "more",
                        json_boolean(pool->queued_with_headers >= compile_pool_workers(pool)));
}

/* A source that is not UTF-8, as messages are, is read by the worker itself. */
static json_t *job_message(const struct compile_pool *pool, const struct queued_job *job)
{
    if (job->step == COMPILE_STEP_COUNT)
        return json_pack("{s:s, s:s}", "do", "count", "output", job->job.path);
    json_t *options = text_array(job->options.items, job->options.count);
    json_t *message = json_pack("{s:s, s:s, s:s, s:o, s:s}", "do", "compile", "name", job->name,
                                "arch", job->arch, "options", options, "output", job->job.path);
    json_t *text = json_string(job->source->text);
    if (message != NULL && text != NULL)
        json_object_set(message, "text", text);
    json_decref(text);
    if (message != NULL && job->options.stamp_count > 0)
        json_object_set_new(message, "stamps",
                            text_array(job->options.stamps, job->options.stamp_count));
    if (message != NULL && job->options.header_count > 0)
        add_headers(pool, &job->options, message);
    return message;
}

static bool is_event(const json_t *message, const char *name)
{
    const char *event = json_string_value(json_object_get(message, "event"));
    return event != NULL && strcmp(event, name) == 0;
}

/* Says which machine an error is of. Returns its code. */
static int name_node(const struct compile_worker *worker, struct error *error)
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

/* A cubin says which NVRTC made it, and must not depend on who had time. */
static int refuse_version(const struct compile_pool *pool, const struct compile_worker *worker,
                          const char *version, struct error *error)
{
    const char *host = worker->place->node != NULL ? worker->place->node->host : "this machine";
    return error_set(
        error, ERROR_DEVICE,
        "node '%s' has NVRTC %s, and others have %s; install the same on all, or choose "
        "it with AUTOTUNE_NVRTC",
        host, version, pool->nvrtc);
}

/* Takes a message of a worker that has not greeted yet: returns 1, 0 if it is not a greeting, or
 * the error that it is. */
static int take_greeting(struct compile_pool *pool, struct compile_worker *worker,
                         const json_t *message, struct error *error)
{
    const char *version = json_string_value(json_object_get(message, "nvrtc"));
    json_t *architectures = json_object_get(message, "architectures");
    int status = message_error(message, error);
    if (status != 0)
        return name_node(worker, error);
    if (!is_event(message, "ready") || version == NULL || json_array_size(architectures) == 0)
        return 0;
    if (pool->architectures != NULL && strcmp(version, pool->nvrtc) != 0)
        return refuse_version(pool, worker, version, error);
    worker->ready = true;
    pool->starting_count--;
    *ARRAY_APPEND(pool->idle, pool->idle_count) = worker;
    pool->failed_starts = 0;
    if (pool->architectures == NULL) {
        (void)snprintf(pool->nvrtc, sizeof pool->nvrtc, "%s", version);
        pool->architectures = json_incref(architectures);
    }
    return 1;
}

static int pass_on(const struct error *reason, struct error *error)
{
    if (error != NULL)
        *error = *reason;
    return reason->code;
}

/* Takes what a worker has made of a job: the compiled source, or the counted instructions. */
static int take_entry(struct compile_pool *pool, struct queued_job *job, struct error *error)
{
    enum compile_step step = job->step;
    if (!take_from_cache(pool, job) || (step == COMPILE_STEP_COUNT && !job->job.done))
        return error_set(
            error, ERROR_RECORD,
            "cache entry '%s' cannot be read, though it has just been written; look at "
            "its disk and permissions",
            job->job.path);
    count_written(pool, &job->job);
    if (!job->job.done) {
        compile_estimate_add(&pool->estimate, job->kind, job->step);
        enqueue(pool, job, true);
    }
    return 1;
}

static void note_time(struct compile_pool *pool, const struct compile_worker *worker)
{
    double took_s = (double)(clock_ns() - worker->began_ns) * 1e-9;
    compile_estimate_done(&pool->estimate, worker->job->kind, worker->job->step, took_s);
    worker->place->busy_s += took_s;
    worker->place->jobs++;
}

/* Another worker with the same job; NULL: there is none. */
static struct compile_worker *find_other(const struct compile_pool *pool,
                                         const struct queued_job *job,
                                         const struct compile_worker *worker)
{
    for (size_t i = 0; i < pool->worker_count && job != NULL && job->twice; i++)
        if (pool->workers[i] != worker && pool->workers[i]->job == job)
            return pool->workers[i];
    return NULL;
}

/* The first answer counts: the other worker with the job is slow, and is not waited for. */
static void take_job(struct compile_pool *pool, struct compile_worker *worker)
{
    struct compile_worker *other = find_other(pool, worker->job, worker);
    note_time(pool, worker);
    if (other != NULL)
        remove_worker(pool, other);
    worker->job->twice = worker->second = false;
    worker->job = NULL;
    *ARRAY_APPEND(pool->idle, pool->idle_count) = worker;
}

/* Takes a message of a worker that has a job: returns 1, 0 if it is not the answer to that, or an
 * error that is not the variant's fault: of the cache, of the disassembler, or of a header that has
 * changed. */
static int take_result(struct compile_pool *pool, struct compile_worker *worker,
                       const json_t *message, struct error *error)
{
    struct queued_job *job = worker->job;
    struct error reason;
    int status = message_error(message, &reason);
    if (status == 0 && !is_event(message, job->step == COMPILE_STEP_COUNT ? "counted" : "compiled"))
        return 0;
    take_job(pool, worker);
    if (status == ERROR_RECORD || status == ERROR_CONFIG ||
        (status != 0 && job->step == COMPILE_STEP_COUNT))
        return pass_on(&reason, error);
    if (status == 0)
        return take_entry(pool, job, error);
    fail_job(pool, job, reason.message);
    return 1;
}

/* Fails the job of a worker that was lost for `reason`; one that was killed from outside deserves
 * another try. Returns 0, or ERROR_RECORD if it was counting: the variant itself is fine. */
static int fail_lost_job(struct compile_pool *pool, struct queued_job *job, const char *reason,
                         bool killed, struct error *error)
{
    char text[WORKER_REASON_BYTES + 64];
    if (killed && ++job->kills < WORKER_KILL_LIMIT) {
        compile_estimate_add(&pool->estimate, job->kind, job->step);
        enqueue(pool, job, true);
        return 0;
    }
    if (job->step == COMPILE_STEP_COUNT)
        return error_set(error, ERROR_RECORD,
                         "the instructions of '%s' were not counted: the worker %s", job->job.path,
                         reason);
    job->job.killed = killed;
    (void)snprintf(text, sizeof text, "the compiler %s%s", reason,
                   strstr(reason, "signal 6 ") != NULL
                       ? ", as when it would take more memory than it may"
                       : "");
    fail_job(pool, job, text);
    return 0;
}

/*
 * Removes a worker that died (`reason` NULL), is stopped, passed its deadline or cannot be trusted.
 * The next job that needs a worker starts another. Returns 0, an error of fail_lost_job(), or
 * ERROR_WORKER once several in a row never became ready.
 */
static int lose_worker(struct compile_pool *pool, struct compile_worker *worker, const char *reason,
                       struct error *error)
{
    char end[WORKER_REASON_BYTES];
    struct queued_job *job = worker->job;
    struct compile_worker *other = find_other(pool, job, worker);
    bool killed = worker_is_stopped(&worker->worker);
    int status = 0;
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
        status = fail_lost_job(pool, job, reason != NULL ? reason : end, killed, error);
    if (status != 0 || pool->failed_starts < START_FAILURES)
        return status;
    return error_set(error, ERROR_WORKER,
                     "compile workers end before they are ready; run `autotune worker compile` to "
                     "see why");
}

/* The worker cannot be relied on after that; nor is the source to blame, so that it is not refused. */
static bool is_out_of_memory(const struct compile_worker *worker, const json_t *message)
{
    struct error reason;
    return worker->job != NULL && message_error(message, &reason) == ERROR_MEMORY;
}

/* Takes one message: returns 1, 0 if it makes no sense, or an error that ends the run. */
static int take_message(struct compile_pool *pool, struct compile_worker *worker,
                        const json_t *message, struct error *error)
{
    worker->source.deadline_ns = EVENT_NEVER;
    if (worker->job != NULL)
        return take_result(pool, worker, message, error);
    return worker->ready ? 0 : take_greeting(pool, worker, message, error);
}

/* Takes what a worker has sent and gives it its next job. Returns 0, or an error that ends the run:
 * there is no NVRTC, workers do not start, or the cache fails. */
static int take_messages(struct event_source *source, struct error *error)
{
    struct compile_worker *worker = source->owner;
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
    if (status < 0)
        return lose_worker(pool, worker, "sent an invalid message", error);
    return dispatch(&pool->source, error);
}

static double job_timeout_s(const struct compile_pool *pool, const struct queued_job *job)
{
    return job->step == COMPILE_STEP_COUNT ? COUNT_TIMEOUT_S : pool->timeout_s;
}

static int expire(struct event_source *source, struct error *error)
{
    struct compile_worker *worker = source->owner;
    struct compile_pool *pool = worker->pool;
    char reason[64];
    int64_t starved_ns = worker_starved_ns(&worker->worker);
    if (starved_ns >= WORKER_STARVED_NS) {
        source->deadline_ns = clock_ns() + starved_ns;
        return 0;
    }
    double timeout_s = worker->job != NULL ? job_timeout_s(pool, worker->job) : ready_timeout_s();
    if (worker_was_asleep(source->deadline_ns)) {
        source->deadline_ns = clock_ns() + (int64_t)(timeout_s * 1e9);
        return 0;
    }
    if (worker_is_stopped(&worker->worker))
        return lose_worker(pool, worker, "was stopped by a signal", error);
    if (worker->job != NULL && find_other(pool, worker->job, worker) == NULL)
        worker->job->job.timed_out = true;
    (void)snprintf(reason, sizeof reason, "did not end within %g s", timeout_s);
    return lose_worker(pool, worker, reason, error);
}

/* --- handing out jobs --- */

/* The worker is not idle any more. */
static void begin_job(struct compile_pool *pool, struct compile_worker *worker,
                      struct queued_job *job)
{
    worker->job = job;
    (void)worker_starved_ns(&worker->worker);
    /* a worker that is gone shows at the next reading */
    (void)channel_send(&worker->worker.channel, job_message(pool, job), NULL);
    worker->began_ns = clock_ns(); /* not before: sending may take long on a busy machine */
    worker->source.deadline_ns = worker->began_ns + (int64_t)(job_timeout_s(pool, job) * 1e9);
}

/* An idle worker of another machine; NULL: there is none. */
static struct compile_worker *find_idle(const struct compile_pool *pool,
                                        const struct compile_place *place)
{
    for (size_t i = pool->idle_count; i-- > 0;)
        if (pool->idle[i]->place != place)
            return pool->idle[i];
    return NULL;
}

/* Whether a job takes so long that its machine may be slow, or hang. */
static bool is_slow(const struct compile_pool *pool, const struct compile_worker *worker)
{
    const struct queued_job *job = worker->job;
    if (job == NULL || job->twice || job->step != COMPILE_STEP_COMPILE)
        return false;
    double since_s = (double)(clock_ns() - worker->began_ns) * 1e-9;
    return since_s > PATIENCE_S &&
           since_s > PATIENCE * compile_estimate_mean_s(&pool->estimate, job->kind, job->step);
}

/* Of the slow ones that another machine has time for, the one that has had its job for longest. */
static struct compile_worker *find_slow(const struct compile_pool *pool)
{
    struct compile_worker *slow = NULL;
    for (size_t i = 0; i < pool->worker_count; i++) {
        struct compile_worker *worker = pool->workers[i];
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
    struct compile_worker *slow;
    (void)error;
    source->deadline_ns = EVENT_NEVER;
    while ((slow = find_slow(pool)) != NULL) {
        struct compile_worker *worker = find_idle(pool, slow->place);
        take_from(pool->idle, &pool->idle_count, worker);
        slow->job->twice = worker->second = true;
        begin_job(pool, worker, slow->job);
    }
    return 0;
}

/* Slow jobs are looked for as long as nothing is queued and some workers are idle while others are
 * not. */
static void plan_look(struct compile_pool *pool)
{
    bool wanted = pool->place_count > 1 && pool->queue_count == 0 && pool->idle_count > 0 &&
                  pool->idle_count + pool->starting_count < pool->worker_count;
    if (!wanted)
        pool->source.deadline_ns = EVENT_NEVER;
    else if (pool->source.deadline_ns == EVENT_NEVER)
        pool->source.deadline_ns = clock_ns() + LOOK_NS;
}

/* Gives queued jobs to idle workers, and starts workers for the rest. */
static int dispatch(struct event_source *source, struct error *error)
{
    struct compile_pool *pool = source->owner;
    while (pool->queue_count > 0 && pool->idle_count > 0)
        begin_job(pool, pool->idle[--pool->idle_count], dequeue(pool));
    plan_look(pool);
    return add_workers(pool, error);
}

/* --- waiting --- */

size_t compile_pool_workers(const struct compile_pool *pool)
{
    size_t count = 0;
    for (size_t i = 0; i < pool->place_count; i++) {
        const struct compile_place *place = &pool->places[i];
        count += place->node != NULL && place->node->lost ? 0 : place->limit;
    }
    return count > 0 ? count : 1;
}

struct compile_pool_share compile_pool_share(const struct compile_pool *pool, size_t number)
{
    const struct compile_place *place = &pool->places[number];
    return (struct compile_pool_share){place->busy_s, place->jobs, place->limit};
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

double compile_pool_left_s(const struct compile_pool *pool, size_t *jobs)
{
    struct compile_running *running = alloc_zeroed(pool->worker_count, sizeof *running);
    size_t count = 0;
    for (size_t i = 0; i < pool->worker_count; i++) {
        const struct compile_worker *worker = pool->workers[i];
        if (worker->job != NULL && !worker->second)
            running[count++] =
                (struct compile_running){worker->job->kind, worker->job->step,
                                         (double)(clock_ns() - worker->began_ns) * 1e-9};
    }
    double left_s =
        compile_estimate_left_s(&pool->estimate, compile_pool_workers(pool), running, count);
    *jobs = pool->queue_count + count;
    free(running);
    return left_s;
}

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
    char list[256] = "";
    size_t used = 0;
    json_array_foreach(pool->architectures, index, known)
    {
        if (json_integer_value(known) == capability) {
            (void)snprintf(pool->arch, sizeof pool->arch, "%s", arch);
            return 0;
        }
        int length = snprintf(list + used, sizeof list - used, "%ssm_%d", used > 0 ? ", " : "",
                              (int)json_integer_value(known));
        used += length > 0 && (size_t)length < sizeof list - used ? (size_t)length : 0;
    }
    return error_set(error, ERROR_USAGE, "NVRTC %s does not compile for '%s'; it knows %s",
                     pool->nvrtc, arch, list);
}
