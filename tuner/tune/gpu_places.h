/* Which GPUs a run uses: those of this machine, or those of all machines of a cluster. */
#ifndef AUTOTUNE_GPU_PLACES_H
#define AUTOTUNE_GPU_PLACES_H

#include "base/error.h"
#include "base/node.h"
#include "template/sweep.h"

#include <stddef.h>

struct gpu_place {
    struct node *node; /* NULL: this machine */
    int ordinal;
};

/*
 * The GPUs that `devices` names. On one machine (`nodes` is NULL) GPU 0 if nothing is stated; they
 * may turn out not to exist. In a cluster all GPUs of all machines if nothing is stated, and
 * otherwise those that exist on each; a GPU that two ranks of one machine see counts once. `*places`
 * is a new array. Returns 0; ERROR_DEVICE if there are none; or ERROR_WORKER.
 */
int gpu_places_find(const struct device_list *devices, struct nodes *nodes,
                    struct gpu_place **places, size_t *count, struct error *error);

#endif
