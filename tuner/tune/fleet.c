#include "tune/fleet.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "tune/gpu_places.h"
#include "tune/lock_worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int fleet_start(struct fleet *fleet, const struct device_list *devices, struct nodes *nodes,
                struct event_loop *loop, struct error *error)
{
    struct gpu_place *places;
    size_t count;
    int status = gpu_places_find(devices, nodes, &places, &count, error);
    fleet->gpus = alloc_zeroed(count, sizeof *fleet->gpus);
    for (size_t i = 0; i < count && status == 0; i++)
        fleet->gpus[fleet->count++] = (struct fleet_gpu){
            .node = places[i].node, .ordinal = places[i].ordinal, .lock = {.file = -1}};
    for (size_t i = 0; i < fleet->count && status == 0; i++) {
        struct fleet_gpu *gpu = &fleet->gpus[i];
        status = gpu_client_new(&gpu->client, gpu->node, gpu->ordinal, loop, error);
    }
    free(places);
    return status;
}

void fleet_end_begin(const struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->count; i++)
        if (fleet->gpus[i].client != NULL)
            gpu_client_end_begin(fleet->gpus[i].client);
}

void fleet_release(struct fleet *fleet)
{
    fleet_end_begin(fleet); /* all at the same time */
    for (size_t i = 0; i < fleet->count; i++)
        gpu_client_free(fleet->gpus[i].client);
    for (size_t i = 0; i < fleet->count; i++) /* when no worker uses a GPU */
        worker_end_begin(&fleet->gpus[i].holder);
    for (size_t i = 0; i < fleet->count; i++) {
        worker_end(&fleet->gpus[i].holder);
        gpu_lock_release(&fleet->gpus[i].lock);
    }
    free(fleet->gpus);
    *fleet = (struct fleet){0};
}

int fleet_identify(struct fleet *fleet, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < fleet->count && status == 0; i++)
        status = gpu_client_gpu(fleet->gpus[i].client, &fleet->gpus[i].gpu, error);
    return status;
}

/* A context on a GPU is another process to the run that measures there, and takes memory. Workers
 * start again when they are needed. */
static int leave_gpus(const struct fleet *fleet, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < fleet->count; i++) /* they end at the same time */
        gpu_client_kill(fleet->gpus[i].client);
    for (size_t i = 0; i < fleet->count && status == 0; i++)
        status = gpu_client_restart(fleet->gpus[i].client, error);
    return status;
}

/* On the GPU's own machine. */
static int try_lock(struct fleet_gpu *gpu, bool *held, struct error *error)
{
    return node_is_here(gpu->node) ? gpu_lock_try(&gpu->lock, gpu->gpu.uuid, held, error)
                                   : lock_worker_take(&gpu->holder, held, &gpu->lock.owner, error);
}

static int wait_for_lock(struct fleet_gpu *gpu, struct error *error)
{
    return node_is_here(gpu->node) ? gpu_lock_wait(&gpu->lock, error)
                                   : lock_worker_wait(&gpu->holder, error);
}

/* Another run has the lock. */
static int wait(const struct fleet *fleet, struct fleet_gpu *gpu, bool no_wait,
                const struct fleet_notice *notice, struct error *error)
{
    struct error text;
    char place[NODE_SUFFIX_BYTES];
    if (no_wait)
        return error_set(error, ERROR_DEVICE,
                         "'%s'%s is being used by another run, process %ld; leave out --no-wait to "
                         "wait for it",
                         gpu->gpu.name, node_suffix(gpu->node, place), gpu->lock.owner);
    (void)error_set(&text, ERROR_OK, "waiting for process %ld, which is using '%s'%s",
                    gpu->lock.owner, gpu->gpu.name, node_suffix(gpu->node, place));
    notice->notice(notice->user, &text);
    int status = leave_gpus(fleet, error);
    return status != 0 ? status : wait_for_lock(gpu, error);
}

/* Other machines' locks are tried for at the same time: a thousand, one after the other, take long. */
static int begin_locks(struct fleet_gpu **gpus, size_t count, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++)
        if (!node_is_here(gpus[i]->node))
            status = lock_worker_begin(&gpus[i]->holder, gpus[i]->node, gpus[i]->gpu.uuid, error);
    return status;
}

static void end_locks(struct fleet_gpu **gpus, size_t count)
{
    for (size_t i = 0; i < count; i++)
        worker_end_begin(&gpus[i]->holder);
    for (size_t i = 0; i < count; i++)
        worker_end(&gpus[i]->holder);
}

/* Waits for one lock at a time, without one that comes later in the order. */
static int take_locks(const struct fleet *fleet, struct fleet_gpu **gpus, bool no_wait,
                      const struct fleet_notice *notice, struct error *error)
{
    int status = begin_locks(gpus, fleet->count, error);
    for (size_t i = 0; i < fleet->count && status == 0; i++) {
        const size_t later = fleet->count - i - 1;
        bool held;
        status = try_lock(gpus[i], &held, error);
        if (status != 0 || held)
            continue;
        end_locks(&gpus[i + 1], later);
        status = wait(fleet, gpus[i], no_wait, notice, error);
        if (status == 0)
            status = begin_locks(&gpus[i + 1], later, error);
    }
    return status;
}

static int compare_uuids(const void *left, const void *right)
{
    const struct fleet_gpu *const *a = left;
    const struct fleet_gpu *const *b = right;
    return strcmp((*a)->gpu.uuid, (*b)->gpu.uuid);
}

/* In the order of their UUIDs, whatever they are called here, so that two runs that want the same GPUs
 * do not wait for each other. */
int fleet_lock(struct fleet *fleet, bool no_wait, const struct fleet_notice *notice,
               int64_t *waited_ns, struct error *error)
{
    struct fleet_gpu **gpus = alloc_zeroed(fleet->count, sizeof *gpus);
    int64_t since_ns = clock_ns();
    int status = 0;
    for (size_t i = 0; i < fleet->count; i++)
        gpus[i] = &fleet->gpus[i];
    qsort(gpus, fleet->count, sizeof *gpus, compare_uuids);
    for (size_t i = 1; i < fleet->count && status == 0; i++)
        if (strcmp(gpus[i - 1]->gpu.uuid, gpus[i]->gpu.uuid) == 0)
            status = error_set(error, ERROR_DEVICE, "devices %d and %d have one UUID, %s",
                               gpus[i - 1]->ordinal, gpus[i]->ordinal, gpus[i]->gpu.uuid);
    if (status == 0)
        status = take_locks(fleet, gpus, no_wait, notice, error);
    free(gpus);
    *waited_ns = clock_ns() - since_ns;
    return status;
}
