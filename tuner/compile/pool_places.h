/*
 * The machines of a compile pool: how many workers each has and may have, and what they have done.
 *
 *     pool_places_init(&places, nodes, workers);
 *     place = pool_places_choose(&places);          for the next worker
 *     if (pool_place_room(place) > 0)
 *         place->workers++;                         whoever starts it counts it, and what it does
 *     pool_places_release(&places);
 */
#ifndef AUTOTUNE_POOL_PLACES_H
#define AUTOTUNE_POOL_PLACES_H

#include "base/node.h"

#include <stddef.h>

/* A machine. */
struct pool_place {
    struct node *node; /* borrowed; NULL: this one */
    size_t limit;      /* of its workers */
    size_t workers;
    double busy_s; /* of all that it had */
    size_t jobs;
};

/* As many as nodes, and in their order; without nodes, only this machine. */
struct pool_places {
    struct pool_place *items;
    size_t count;
};

/* `workers`: the most on each machine; 0: one per core. `nodes` is borrowed; NULL: this machine. */
void pool_places_init(struct pool_places *places, const struct nodes *nodes, size_t workers);
void pool_places_release(struct pool_places *places);

/* How many more workers the machine may have; 0 if it was lost. */
size_t pool_place_room(const struct pool_place *place);

/* The one with the most cores to spare; there may be none to spare. */
struct pool_place *pool_places_choose(const struct pool_places *places);

/* The most workers that the machines can have, without those that were lost; at least 1. */
size_t pool_places_limit(const struct pool_places *places);

#endif
