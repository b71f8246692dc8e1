#include "compile/compile_pool.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "compile/compile_pool_state.h"
#include "compile/cubin_cache.h"
#include "compile/pool_dispatch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int compile_pool_new(struct compile_pool **pool, struct event_loop *loop,
                     const struct compile_pool_options *options, struct error *error)
{
    struct compile_pool *new = alloc_zeroed(1, sizeof *new);
    new->workers.loop = loop;
    new->workers.pool = new;
    pool_places_init(&new->workers.places, options->nodes, options->workers);
    pool_jobs_init(&new->jobs, options->cache_folder);
    pool_dispatch_begin(new, loop);
    new->compile_timeout_s = options->compile_timeout_s;
    if (options->arch != NULL)
        (void)snprintf(new->arch, sizeof new->arch, "%s", options->arch);
    *pool = new;
    int status = pool_workers_add(&new->workers, &new->workers.places.items[0], error);
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
    pool_workers_release(&pool->workers);
    event_loop_remove(pool->workers.loop, &pool->source);
    pool_jobs_release(&pool->jobs);
    free(pool);
}

int compile_pool_start(struct compile_pool *pool, struct error *error)
{
    struct pool_workers *workers = &pool->workers;
    struct pool_place *place;
    int status = 0;
    while (status == 0 && pool_place_room(place = pool_places_choose(&workers->places)) > 0)
        status = pool_workers_add(workers, place, error);
    return workers->count > 0 ? 0 : status;
}

/* --- NVRTC --- */

int compile_pool_nvrtc_version(struct compile_pool *pool, const char **version, struct error *error)
{
    int status = 0;
    while (pool->workers.architectures == NULL && status == 0)
        status = event_loop_step(pool->workers.loop, EVENT_NEVER, error);
    *version = pool->workers.nvrtc;
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
    json_array_foreach(pool->workers.architectures, index, known)
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
                     pool->workers.nvrtc, arch, list);
}

/* --- requests --- */

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

int compile_pool_request(struct compile_pool *pool, const char *name, const char *text,
                         const char *source_hash, const struct options *options, bool urgent,
                         struct compile_job **job, struct error *error)
{
    char key[HASH_BYTES];
    int status = make_key(pool, pool->arch, source_hash, options, key, error);
    if (status == 0)
        status = check_texts(name, options, error);
    if (status != 0)
        return status;
    struct pool_job *known = pool_jobs_find(&pool->jobs, key);
    struct pool_job *new = known == NULL ? pool_jobs_add(&pool->jobs, key) : known;
    *job = &new->job;
    if (known != NULL && !known->unreadable)
        return 0;
    new->unreadable = new->job.done = new->job.has_cubin = false;
    new->job.cached = pool_jobs_take_entry(&pool->jobs, new, NULL) == 1;
    if (new->job.cached)
        return 0;
    pool_jobs_request(&pool->jobs, new, name, text, source_hash, pool->arch, options);
    new->kind = compile_estimate_kind(&pool->jobs.estimate, source_hash);
    pool_jobs_enqueue(&pool->jobs, new, urgent);
    /* at once: more requests follow before the next wait */
    return pool_workers_add_for(&pool->workers, pool->jobs.queue_count, error);
}

bool compile_pool_distrust(struct compile_job *job)
{
    enum { MOST = 3 }; /* on other machines, copies may be damaged */
    ((struct pool_job *)job)->unreadable = job->done;
    return ++job->distrusts <= MOST;
}

bool compile_pool_has(struct compile_pool *pool, const char *arch, const char *source_hash,
                      const struct options *options)
{
    char key[HASH_BYTES];
    return make_key(pool, arch, source_hash, options, key, NULL) == 0 &&
           pool_jobs_has(&pool->jobs, key);
}

struct compile_job *compile_pool_refuse(struct compile_pool *pool, const struct error *reason)
{
    char key[HASH_BYTES];
    hash_of(reason->message, strlen(reason->message), key);
    struct pool_job *job = pool_jobs_find(&pool->jobs, key);
    if (job == NULL) {
        job = pool_jobs_add(&pool->jobs, key);
        job->job.invalid = true;
        pool_jobs_fail(&pool->jobs, job, reason->message);
    }
    return &job->job;
}

void compile_pool_drop(struct compile_pool *pool, struct compile_job *job)
{
    struct pool_job *dropped = (struct pool_job *)job;
    if (!pool_jobs_leave(&pool->jobs, dropped))
        return;
    if (!job->done && !pool_jobs_unqueue(&pool->jobs, dropped))
        pool_workers_stop(&pool->workers, dropped);
    pool_jobs_remove(&pool->jobs, dropped);
}

/* --- waiting --- */

int compile_pool_wait_until(struct compile_pool *pool, const struct compile_job *job,
                            int64_t until_ns, struct error *error)
{
    int status = 0;
    while (!job->done && status == 0 && (until_ns == EVENT_NEVER || clock_ns() < until_ns))
        status = event_loop_step(pool->workers.loop, until_ns, error);
    return status;
}

int compile_pool_wait(struct compile_pool *pool, const struct compile_job *job, struct error *error)
{
    return compile_pool_wait_until(pool, job, EVENT_NEVER, error);
}

/* --- how far it is --- */

size_t compile_pool_held(const struct compile_pool *pool)
{
    return pool->jobs.held_count;
}

size_t compile_pool_waiting(const struct compile_pool *pool)
{
    return pool->jobs.queue_count;
}

uint64_t compile_pool_done_count(const struct compile_pool *pool)
{
    return pool->jobs.done_count;
}

uint64_t compile_pool_written_bytes(const struct compile_pool *pool)
{
    return pool->jobs.written_bytes;
}

size_t compile_pool_workers(const struct compile_pool *pool)
{
    return pool_places_limit(&pool->workers.places);
}

struct compile_pool_share compile_pool_share(const struct compile_pool *pool, size_t number)
{
    const struct pool_place *place = &pool->workers.places.items[number];
    return (struct compile_pool_share){place->busy_s, place->jobs, place->limit};
}

double compile_pool_left_s(const struct compile_pool *pool, size_t *jobs)
{
    const struct pool_workers *workers = &pool->workers;
    struct compile_running *running = alloc_zeroed(workers->count, sizeof *running);
    size_t count = 0;
    for (size_t i = 0; i < workers->count; i++) {
        const struct pool_worker *worker = workers->items[i];
        if (worker->job != NULL && !worker->second)
            running[count++] = (struct compile_running){
                worker->job->kind, (double)(clock_ns() - worker->began_ns) * 1e-9};
    }
    double left_s = compile_estimate_left_s(&pool->jobs.estimate,
                                            pool_places_limit(&workers->places), running, count);
    *jobs = pool->jobs.queue_count + count;
    free(running);
    return left_s > 0 ? left_s : 0;
}
