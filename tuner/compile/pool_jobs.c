#include "compile/pool_state.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json_text.h"
#include "base/write_file.h"
#include "compile/cubin_cache.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    free(job->job.ptx);
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
    pool_workers_begin(new, options);
    *pool = new;
    int status = pool_workers_add_first(new, error);
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
    pool_workers_end(pool);
    tdestroy(pool->by_key, free_job);
    compile_estimate_release(&pool->estimate);
    pool_settle_entries(pool, INT64_MAX, true);
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

/* The key of the job with these; waits for NVRTC's version. PTX is no architecture's. */
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

static int request(struct compile_pool *pool, const char *key, bool ptx,
                   const struct source *source, const struct options *options, bool urgent,
                   struct compile_job **job, struct error *error)
{
    bool known;
    int status = check_texts(source, options, error);
    if (status != 0)
        return status;
    struct pool_job *new = find_or_add(pool, key, &known);
    *job = &new->job;
    if (known && !new->unreadable)
        return 0;
    new->unreadable = new->job.done = new->job.has_cubin = new->job.cached = false;
    new->wants_ptx = ptx;
    if (!ptx && take_cached(pool, new))
        return 0;
    new->source = source;
    (void)snprintf(new->arch, sizeof new->arch, "%s", pool->arch);
    options_copy(&new->options, options);
    new->kind = compile_estimate_kind(&pool->estimate, source->text_hash);
    pool_enqueue(pool, new, urgent);
    /* at once: more requests follow before the next wait */
    return pool_workers_add_for_queue(pool, error);
}

int compile_pool_request(struct compile_pool *pool, const struct source *source,
                         const struct options *options, bool urgent, struct compile_job **job,
                         struct error *error)
{
    char key[HASH_BYTES];
    int status = make_key(pool, pool->arch, source->text_hash, options, key, error);
    return status != 0 ? status : request(pool, key, false, source, options, urgent, job, error);
}

int compile_pool_ptx(struct compile_pool *pool, const struct source *source,
                     const struct options *options, struct compile_job **job, struct error *error)
{
    char key[HASH_BYTES];
    int status = make_key(pool, "PTX", source->text_hash, options, key, error);
    return status != 0 ? status : request(pool, key, true, source, options, false, job, error);
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
        pool_fail(pool, job, reason->code, text);
    return &job->job;
}

/* --- the queue --- */

void pool_enqueue(struct compile_pool *pool, struct pool_job *job, bool urgent)
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

struct pool_job *pool_dequeue(struct compile_pool *pool)
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
        pool_workers_stop(pool, dropped);
    (void)tdelete(dropped, &pool->by_key, compare_keys);
    free_job(dropped);
}

/* --- results --- */

static void end_job(struct compile_pool *pool, struct pool_job *job)
{
    release_request(job);
    job->job.done = true;
    pool->done_count++;
}

int pool_take_result(struct compile_pool *pool, struct pool_job *job, char *bytes, size_t count,
                     struct error *error)
{
    struct compilation *compilation = &job->job.compilation;
    compilation_release(compilation);
    if (job->wants_ptx) {
        job->job.ptx = alloc_string_n(bytes, count);
        end_job(pool, job);
        return 1;
    }
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

void pool_settle_entries(struct compile_pool *pool, int64_t until_ns, bool keep)
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

void pool_fail(struct compile_pool *pool, struct pool_job *job, enum error_code code,
               const char *reason)
{
    job->job.failure_code = code;
    (void)snprintf(job->job.failure, sizeof job->job.failure, "%.250s", reason);
    end_job(pool, job);
}

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

/* --- waiting --- */

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
                                        pool_workers_limit(pool), pool->written_bytes};
}

struct compile_pool_share compile_pool_share(const struct compile_pool *pool, size_t number)
{
    const struct pool_place *place = &pool->places[number];
    return (struct compile_pool_share){place->busy_s, place->jobs, place->limit};
}

double compile_pool_left_s(const struct compile_pool *pool, size_t *jobs)
{
    struct compile_running *running = alloc_zeroed(pool->worker_count, sizeof *running);
    size_t count = 0;
    for (size_t i = 0; i < pool->worker_count; i++) {
        const struct pool_worker *worker = pool->workers[i];
        if (worker->job != NULL && !worker->second)
            running[count++] = (struct compile_running){
                worker->job->kind, (double)(clock_ns() - worker->began_ns) * 1e-9};
    }
    double left_s =
        compile_estimate_left_s(&pool->estimate, pool_workers_limit(pool), running, count);
    *jobs = pool->queue_count + count;
    free(running);
    return left_s;
}
