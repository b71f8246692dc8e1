#include "search/neighbourhood.h"

#include "base/alloc.h"
#include "search/random_number.h"

#include <stdlib.h>
#include <string.h>

enum {
    NEAR = 128, /* about so many of them, at most */
    FAR = 150
};

static size_t value_count(const struct strategy_context *context, size_t index)
{
    return search_space_parameter(context->space, index)->values->count;
}

static int add_point(struct strategy_context *context, const uint32_t *point,
                     struct candidates *candidates, struct error *error)
{
    int status = search_space_has(context->space, point, error);
    if (status == 1 && !history_has(context->history, point))
        candidates_add(candidates, point);
    return status < 0 ? status : 0;
}

static uint32_t *copy_point(const struct strategy_context *context, const uint32_t *point)
{
    size_t dimensions = search_space_dimensions(context->space);
    uint32_t *copy = alloc_zeroed(dimensions, sizeof *copy);
    memcpy(copy, point, dimensions * sizeof *copy);
    return copy;
}

int neighbourhood_add_near(struct strategy_context *context, const uint32_t *center,
                           struct candidates *candidates, struct error *error)
{
    size_t dimensions = search_space_dimensions(context->space);
    uint32_t *point = copy_point(context, center);
    size_t all = 0;
    int status = 0;
    for (size_t i = 0; i < dimensions; i++)
        all += value_count(context, i) - 1;
    for (size_t i = 0; i < dimensions; i++) {
        uint32_t kept = point[i];
        for (uint32_t value = 0; value < value_count(context, i) && status == 0; value++) {
            point[i] = value;
            if (value != kept && (all <= NEAR || random_below(&context->random, all) < NEAR))
                status = add_point(context, point, candidates, error);
        }
        point[i] = kept;
    }
    free(point);
    return status;
}

int neighbourhood_add_far(struct strategy_context *context, const uint32_t *center,
                          struct candidates *candidates, struct error *error)
{
    size_t dimensions = search_space_dimensions(context->space);
    uint32_t *point = copy_point(context, center);
    int status = 0;
    for (int i = 0; i < FAR && dimensions > 0 && status == 0; i++) {
        size_t first = random_below(&context->random, dimensions);
        size_t second = random_below(&context->random, dimensions);
        point[first] = (uint32_t)random_below(&context->random, value_count(context, first));
        point[second] = (uint32_t)random_below(&context->random, value_count(context, second));
        status = add_point(context, point, candidates, error);
        point[first] = center[first];
        point[second] = center[second];
    }
    free(point);
    return status;
}
