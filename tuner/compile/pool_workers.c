#include "compile/pool_workers.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "compile/compile_worker.h"
#include "compile/pool_messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READY_TIMEOUT_S = 60 };

double pool_workers_ready_timeout_s(void)
{
    return worker_timeout_s(READY_TIMEOUT_S);
}

/* --- starting --- */

int pool_workers_add(struct pool_workers *workers, struct pool_place *place, struct error *error)
{
    struct pool_worker *worker = alloc_zeroed(1, sizeof *worker);
    int status = worker_start(&worker->worker, place->node, "compile", NULL, error);
    if (status != 0) {
        free(worker);
        return status;
    }
    worker->pool = workers->pool;
    worker->place = place;
    place->workers++;
    workers->starting_count++;
    worker->source = (struct event_source){
        .descriptor = worker->worker.channel.in,
        .deadline_ns = clock_ns() + (int64_t)(pool_workers_ready_timeout_s() * 1e9),
        .owner = worker,
        .readable = workers->readable,
        .expired = workers->expired,
    };
    event_loop_add(workers->loop, &worker->source);
    *ARRAY_APPEND(workers->items, workers->count) = worker;
    return 0;
}

int pool_workers_add_for(struct pool_workers *workers, size_t queued, struct error *error)
{
    while (queued > workers->idle_count + workers->starting_count && !workers->full) {
        struct pool_place *place = pool_places_choose(&workers->places);
        workers->full = pool_place_room(place) == 0;
        int status = workers->full ? 0 : pool_workers_add(workers, place, error);
        if (status != 0)
            return workers->count > 0 ? 0 : status;
    }
    if (workers->count == 0 && workers->architectures == NULL)
        return pool_workers_add(workers, &workers->places.items[0], error);
    return 0;
}

/* --- greetings --- */

int pool_workers_name_node(const struct pool_worker *worker, struct error *error)
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

/* A cubin's key says which NVRTC made it, and must not depend on who had time. */
static int refuse_build(const struct pool_workers *workers, const struct pool_worker *worker,
                        const char *build, struct error *error)
{
    if (worker->place->node == NULL)
        return error_set(error, ERROR_DEVICE,
                         "NVRTC or the CUDA headers changed during the run, from %s to %s; run the "
                         "same command again",
                         workers->nvrtc, build);
    return error_set(error, ERROR_DEVICE,
                     "node '%s' has NVRTC %s, and others have %s (what follows the '+' stands for "
                     "the CUDA headers); install the same toolkit on all, or choose it with "
                     "AUTOTUNE_NVRTC",
                     worker->place->node->host, build, workers->nvrtc);
}

int pool_workers_greet(struct pool_workers *workers, struct pool_worker *worker,
                       const json_t *message, struct error *error)
{
    const char *build = json_string_value(json_object_get(message, "nvrtc"));
    json_t *architectures = json_object_get(message, "architectures");
    int status = message_error(message, error);
    if (status != 0)
        return pool_workers_name_node(worker, error);
    if (!pool_messages_is(message, "ready") || build == NULL || json_array_size(architectures) == 0)
        return 0;
    if (workers->architectures != NULL && strcmp(build, workers->nvrtc) != 0)
        return refuse_build(workers, worker, build, error);
    worker->ready = true;
    workers->starting_count--;
    pool_workers_rest(workers, worker);
    workers->failed_starts = 0;
    if (workers->architectures == NULL) {
        (void)snprintf(workers->nvrtc, sizeof workers->nvrtc, "%s", build);
        workers->architectures = json_incref(architectures);
    }
    return 1;
}

/* --- those that are there --- */

static void take_from(struct pool_worker **workers, size_t *count, const struct pool_worker *worker)
{
    for (size_t i = 0; i < *count; i++)
        if (workers[i] == worker)
            workers[i] = workers[--*count];
}

void pool_workers_take_idle(struct pool_workers *workers, const struct pool_worker *worker)
{
    take_from(workers->idle, &workers->idle_count, worker);
}

void pool_workers_rest(struct pool_workers *workers, struct pool_worker *worker)
{
    *ARRAY_APPEND(workers->idle, workers->idle_count) = worker;
}

/* --- removing --- */

void pool_workers_remove(struct pool_workers *workers, struct pool_worker *worker)
{
    event_loop_remove(workers->loop, &worker->source);
    worker_dismiss(&worker->worker);
    worker->place->workers--;
    workers->full = false;
    workers->starting_count -= !worker->ready;
    take_from(workers->idle, &workers->idle_count, worker);
    take_from(workers->items, &workers->count, worker);
    if (worker->job != NULL && node_is_here(worker->place->node)) {
        char *temporary = alloc_format("%s" COMPILE_WORKER_TEMPORARY, worker->job->job.path);
        (void)unlink(temporary);
        free(temporary);
    }
    free(worker);
}

void pool_workers_stop(struct pool_workers *workers, const struct pool_job *job)
{
    for (size_t i = workers->count; i-- > 0;)
        if (workers->items[i]->job == job)
            pool_workers_remove(workers, workers->items[i]);
}

void pool_workers_release(struct pool_workers *workers)
{
    while (workers->count > 0) {
        struct pool_worker *worker = workers->items[workers->count - 1];
        if (worker->job == NULL && node_is_here(worker->place->node))
            worker_end(&worker->worker);
        pool_workers_remove(workers, worker);
    }
    json_decref(workers->architectures);
    pool_places_release(&workers->places);
    free(workers->items);
    free(workers->idle);
}
