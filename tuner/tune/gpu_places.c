#include "tune/gpu_places.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/worker.h"
#include "tune/gpu_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* --- a cluster --- */

struct search {
    const struct device_list *devices;
    struct gpu_place *places;
    size_t count;
    char (*uuids)[sizeof((struct gpu *)0)->uuid]; /* of these */
    size_t uuid_count;
};

static bool is_wanted(const struct search *search, int ordinal)
{
    const struct device_list *devices = search->devices;
    bool wanted = devices->count == 0;
    for (size_t i = 0; i < devices->count; i++)
        wanted = wanted || devices->ordinals[i] == ordinal;
    return wanted;
}

static bool is_known(const struct search *search, const char *uuid)
{
    for (size_t i = 0; i < search->uuid_count; i++)
        if (strcmp(search->uuids[i], uuid) == 0)
            return true;
    return false;
}

static void add_gpus(struct search *search, struct node *node, const struct gpu *gpus, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_wanted(search, (int)i) || is_known(search, gpus[i].uuid))
            continue;
        (void)snprintf(*ARRAY_APPEND(search->uuids, search->uuid_count), sizeof *search->uuids,
                       "%s", gpus[i].uuid);
        add(&search->places, &search->count, node, (int)i);
    }
}

/* Machines whose driver does not answer have no GPU; if none has one, the first of them says why. */
static int ask_nodes(struct search *search, struct nodes *nodes, struct error *error)
{
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
        if (gpu_list_take(&workers[i], &gpus, &shown, &died, &own) == 0)
            add_gpus(search, nodes_at(nodes, i), gpus, shown);
        else if (first.code == 0)
            first = own;
        free(gpus);
    }
    for (size_t i = 0; i < count; i++) /* all at the same time */
        worker_end_begin(&workers[i]);
    for (size_t i = 0; i < count; i++)
        worker_end(&workers[i]);
    free(workers);
    if (interrupt_requested())
        return error_set(error, ERROR_INTERRUPTED, "interrupted");
    if (search->count > 0)
        return 0;
    return error_set(error, ERROR_DEVICE, "no node has %s%s%s",
                     search->devices->count > 0 ? "one of these GPUs" : "a GPU",
                     first.code != 0 ? ": " : "", first.message);
}

int gpu_places_find(const struct device_list *devices, struct nodes *nodes,
                    struct gpu_place **places, size_t *count, struct error *error)
{
    *places = NULL;
    *count = 0;
    if (nodes != NULL) {
        struct search search = {.devices = devices};
        int status = ask_nodes(&search, nodes, error);
        free(search.uuids);
        *places = search.places;
        *count = search.count;
        return status;
    }
    if (!device_list_is_stated(devices))
        add(places, count, NULL, 0);
    for (size_t i = 0; i < devices->count; i++)
        add(places, count, NULL, devices->ordinals[i]);
    int status = devices->all ? add_all(places, count, error) : 0;
    return status != 0 || *count > 0 ? status
                                     : error_set(error, ERROR_DEVICE, "the driver shows no GPU");
}
