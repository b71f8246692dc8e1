#include "tune/fleet.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/interrupt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the GPUs of a machine --- */

enum { ANSWER_TIMEOUT_S = 60, TRIES = 3 /* of a worker that dies */ };

static int take_devices(const json_t *message, struct gpu **gpus, size_t *count,
                        struct error *error)
{
    size_t index;
    json_t *object;
    int status = message_error(message, error);
    json_t *list = json_object_get(message, "gpus");
    if (status == 0 && !json_is_array(list))
        status = error_set(error, ERROR_WORKER, "the device worker sent no list of GPUs");
    json_array_foreach(list, index, object)
    {
        if (status == 0)
            status = gpu_from_json(object, ARRAY_APPEND(*gpus, *count), error);
    }
    return status;
}

/* gpu_list() in two steps, so that several machines are asked at once; then end the worker. If it has died
 * by itself, `*died` is set. */
static int gpu_list_begin(struct worker *worker, struct node *node, struct error *error)
{
    return worker_start(worker, node, "device", "-1", error);
}

static int gpu_list_take(struct worker *worker, struct gpu **gpus, size_t *count, bool *died,
                         struct error *error)
{
    json_t *message;
    bool late;
    const double timeout_s = worker_timeout_s(ANSWER_TIMEOUT_S);
    int64_t until_ns = clock_ns() + (int64_t)(timeout_s * 1e9);
    *gpus = NULL;
    *count = 0;
    *died = false;
    int status = channel_receive_until(&worker->channel, until_ns, &late, &message, error);
    if (status == 0 && !late) {
        char reason[WORKER_REASON_BYTES];
        worker_reap(worker, reason);
        *died = true;
        return error_set(error, ERROR_WORKER, "the device worker %s", reason);
    }
    if (late) {
        worker_stop(worker);
        status = error_set(error, ERROR_DEVICE, "the driver did not answer within %g s", timeout_s);
    }
    if (status == 1) {
        status = take_devices(message, gpus, count, error);
        json_decref(message);
    }
    return status;
}

int gpu_list(struct gpu **gpus, size_t *count, struct error *error)
{
    struct worker worker = {0};
    bool died = true;
    int status = 0;
    *gpus = NULL;
    *count = 0;
    for (int i = 0; i < TRIES && died; i++) {
        status = gpu_list_begin(&worker, NULL, error);
        died = false;
        if (status == 0)
            status = gpu_list_take(&worker, gpus, count, &died, error);
        worker_end(&worker);
    }
    return status;
}

/* --- which GPUs a run uses --- */

struct gpu_place {
    struct node *node; /* NULL: this machine */
    int ordinal;
};

static void add(struct gpu_place **places, size_t *count, struct node *node, int ordinal)
{
    *ARRAY_APPEND(*places, *count) = (struct gpu_place){.node = node, .ordinal = ordinal};
}

/* Every GPU that the driver shows. */
static int add_all(struct gpu_place **places, size_t *count, struct error *error)
{
    struct gpu *gpus;
    size_t shown;
    int status = gpu_list(&gpus, &shown, error);
    if (status == 0 && shown > DEVICES_MOST)
        status = error_set(error, ERROR_USAGE,
                           "the driver shows %zu GPUs, and a run uses at most %d; list those that "
                           "it is to use with --device",
                           shown, (int)DEVICES_MOST);
    for (size_t i = 0; i < shown && status == 0; i++)
        add(places, count, NULL, (int)i);
    free(gpus);
    return status;
}

/* In a cluster. Machines whose driver does not answer have no GPU; if none has one, the first of them says why. */
static int ask_nodes(const struct device_list *devices, struct nodes *nodes,
                     struct gpu_place **places, size_t *place_count, struct error *error)
{
    char(*uuids)[sizeof((struct gpu *)0)->uuid] = NULL; /* of these places */
    size_t uuid_count = 0;
    size_t count = nodes_count(nodes);
    struct worker *workers = alloc_zeroed(count, sizeof *workers);
    struct error first = {0};
    for (size_t i = 0; i < count; i++)
        (void)gpu_list_begin(&workers[i], nodes_at(nodes, i), NULL);
    for (size_t i = 0; i < count; i++) {
        struct gpu *gpus = NULL;
        struct error own;
        bool died;
        size_t shown = 0;
        if (!worker_is_running(&workers[i]))
            continue;
        int status = gpu_list_take(&workers[i], &gpus, &shown, &died, &own);
        if (status != 0 && first.code == 0)
            first = own;
        for (size_t j = 0; j < shown && status == 0; j++) {
            bool wanted = devices->count == 0;
            for (size_t k = 0; k < devices->count; k++)
                wanted = wanted || devices->ordinals[k] == (int)j;
            for (size_t k = 0; k < uuid_count; k++)
                wanted = wanted && strcmp(uuids[k], gpus[j].uuid) != 0;
            if (!wanted)
                continue;
            (void)snprintf(*ARRAY_APPEND(uuids, uuid_count), sizeof *uuids, "%s", gpus[j].uuid);
            add(places, place_count, nodes_at(nodes, i), (int)j);
        }
        free(gpus);
    }
    for (size_t i = 0; i < count; i++) /* all at the same time */
        worker_end_begin(&workers[i]);
    for (size_t i = 0; i < count; i++)
        worker_end(&workers[i]);
    free(workers);
    free(uuids);
    if (interrupt_requested())
        return error_set(error, ERROR_INTERRUPTED, "interrupted");
    if (*place_count > 0)
        return 0;
    return error_set(error, ERROR_DEVICE, "no node has %s%s%s",
                     devices->count > 0 ? "one of these GPUs" : "a GPU",
                     first.code != 0 ? ": " : "", first.message);
}

/* The GPUs that `devices` names, which on one machine may turn out not to exist; a GPU that two ranks of one machine
 * see counts once. `*places` is a new array. */
static int find_places(const struct device_list *devices, struct nodes *nodes,
                       struct gpu_place **places, size_t *count, struct error *error)
{
    *places = NULL;
    *count = 0;
    if (nodes != NULL)
        return ask_nodes(devices, nodes, places, count, error);
    if (!device_list_is_stated(devices))
        add(places, count, NULL, 0);
    for (size_t i = 0; i < devices->count; i++)
        add(places, count, NULL, devices->ordinals[i]);
    int status = devices->all ? add_all(places, count, error) : 0;
    return status != 0 || *count > 0 ? status
                                     : error_set(error, ERROR_DEVICE, "the driver shows no GPU");
}

/* --- a run's GPUs --- */

int fleet_start(struct fleet *fleet, const struct device_list *devices, struct nodes *nodes,
                struct event_loop *loop, struct error *error)
{
    struct gpu_place *places;
    size_t count;
    int status = find_places(devices, nodes, &places, &count, error);
    fleet->gpus = alloc_zeroed(count, sizeof *fleet->gpus);
    for (size_t i = 0; i < count && status == 0; i++)
        fleet->gpus[fleet->count++] = (struct fleet_gpu){
            .node = places[i].node, .ordinal = places[i].ordinal, .lock = {.file = -1}};
    for (size_t i = 0; i < fleet->count && status == 0; i++) {
        struct fleet_gpu *gpu = &fleet->gpus[i];
        status = device_client_new(&gpu->client, gpu->node, gpu->ordinal, loop, error);
    }
    free(places);
    return status;
}

void fleet_end_begin(const struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->count; i++)
        if (fleet->gpus[i].client != NULL)
            device_client_end_begin(fleet->gpus[i].client);
}

void fleet_release(struct fleet *fleet)
{
    fleet_end_begin(fleet); /* all at the same time */
    for (size_t i = 0; i < fleet->count; i++)
        device_client_free(fleet->gpus[i].client);
    for (size_t i = 0; i < fleet->count; i++) /* when no worker uses a GPU */
        worker_end_begin(&fleet->gpus[i].holder);
    for (size_t i = 0; i < fleet->count; i++) {
        worker_end(&fleet->gpus[i].holder);
        device_lock_release(&fleet->gpus[i].lock);
    }
    free(fleet->gpus);
    *fleet = (struct fleet){0};
}

int fleet_identify(struct fleet *fleet, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < fleet->count && status == 0; i++)
        status = device_client_gpu(fleet->gpus[i].client, &fleet->gpus[i].gpu, error);
    return status;
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
    /* a context on a GPU is another process to the run that measures there, and takes memory; workers
     * start again when they are needed */
    bool held;
    int status = 0;
    for (size_t i = 0; i < fleet->count; i++) /* they end at the same time */
        device_client_kill(fleet->gpus[i].client);
    for (size_t i = 0; i < fleet->count && status == 0; i++)
        status = device_client_restart(fleet->gpus[i].client, error);
    if (status != 0)
        return status;
    return node_is_here(gpu->node)
               ? device_lock_wait(&gpu->lock, error)
               : lock_worker_take(&gpu->holder, true, &held, &gpu->lock.owner, error);
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

/* Waits for one lock at a time, without one that comes later in the order. */
static int take_locks(const struct fleet *fleet, struct fleet_gpu **gpus, bool no_wait,
                      const struct fleet_notice *notice, struct error *error)
{
    int status = begin_locks(gpus, fleet->count, error);
    for (size_t i = 0; i < fleet->count && status == 0; i++) {
        const size_t later = fleet->count - i - 1;
        bool held;
        status =
            node_is_here(gpus[i]->node)
                ? device_lock_try(&gpus[i]->lock, gpus[i]->gpu.uuid, &held, error)
                : lock_worker_take(&gpus[i]->holder, false, &held, &gpus[i]->lock.owner, error);
        if (status != 0 || held)
            continue;
        for (size_t j = i + 1; j < fleet->count; j++) /* they end at the same time */
            worker_end_begin(&gpus[j]->holder);
        for (size_t j = i + 1; j < fleet->count; j++)
            worker_end(&gpus[j]->holder);
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
