#include "compile/pool_places.h"

#include "base/alloc.h"
#include "base/cores.h"

#include <stdbool.h>
#include <stdlib.h>

void pool_places_init(struct pool_places *places, const struct nodes *nodes, size_t workers)
{
    size_t count = nodes_count(nodes);
    places->count = count > 0 ? count : 1;
    places->items = alloc_zeroed(places->count, sizeof *places->items);
    places->items[0].limit = cores_usable();
    for (size_t i = 0; i < places->count; i++) {
        struct pool_place *place = &places->items[i];
        place->node = nodes_at(nodes, i);
        if (place->node != NULL)
            place->limit = place->node->cores;
        if (workers > 0)
            place->limit = workers;
    }
}

void pool_places_release(struct pool_places *places)
{
    free(places->items);
}

static bool is_lost(const struct pool_place *place)
{
    return place->node != NULL && place->node->lost;
}

size_t pool_place_room(const struct pool_place *place)
{
    return is_lost(place) || place->workers >= place->limit ? 0 : place->limit - place->workers;
}

struct pool_place *pool_places_choose(const struct pool_places *places)
{
    struct pool_place *best = &places->items[0];
    for (size_t i = 1; i < places->count; i++)
        if (pool_place_room(&places->items[i]) > pool_place_room(best))
            best = &places->items[i];
    return best;
}

size_t pool_places_limit(const struct pool_places *places)
{
    size_t limit = 0;
    for (size_t i = 0; i < places->count; i++)
        limit += is_lost(&places->items[i]) ? 0 : places->items[i].limit;
    return limit > 0 ? limit : 1;
}
