#include "search/search.h"

#include "base/alloc.h"
#include "search/history.h"
#include "search/strategy.h"

#include <stdlib.h>
#include <string.h>

/* The first is the one shipped. */
static const struct search_strategy *const strategies[] = {&strategy_model, &strategy_random};

enum { STRATEGY_COUNT = sizeof strategies / sizeof *strategies };

struct search {
    const struct search_strategy *strategy;
    struct strategy_context context;
    struct history history;
    struct known_results known;
    void *state; /* the strategy's */
};

const char *search_strategy_name(size_t index)
{
    return index < STRATEGY_COUNT ? strategies[index]->name : NULL;
}

const struct search_strategy *search_strategy_find(const char *name)
{
    if (name == NULL)
        return strategies[0];
    for (size_t i = 0; i < STRATEGY_COUNT; i++)
        if (strcmp(strategies[i]->name, name) == 0)
            return strategies[i];
    return NULL;
}

/* A state of statistics_random() that is not 0, and differs much between seeds that differ little
 * (Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014). */
static uint64_t random_state(uint64_t seed)
{
    uint64_t state = seed + UINT64_C(0x9e3779b97f4a7c15);
    state = (state ^ (state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    state = (state ^ (state >> 27)) * UINT64_C(0x94d049bb133111eb);
    state ^= state >> 31;
    return state != 0 ? state : 1;
}

struct search *search_new(struct search_space *space, const struct search_options *options)
{
    struct search *search = alloc_zeroed(1, sizeof *search);
    search->strategy = options->strategy != NULL ? options->strategy : strategies[0];
    history_init(&search->history, search_space_dimensions(space));
    search->context = (struct strategy_context){.space = space,
                                                .history = &search->history,
                                                .known = &search->known,
                                                .evaluations = options->evaluations,
                                                .random = random_state(options->seed)};
    search_space_rewind(space);
    if (search->strategy->new != NULL)
        search->state = search->strategy->new (&search->context);
    return search;
}

void search_free(struct search *search)
{
    if (search == NULL)
        return;
    if (search->strategy->free != NULL)
        search->strategy->free(search->state);
    history_release(&search->history);
    known_results_release(&search->known);
    free(search);
}

void search_know(struct search *search, const uint32_t *points, const double *times_ns,
                 size_t count)
{
    known_results_add(&search->known, search_space_dimensions(search->context.space), points,
                      times_ns, count);
}

void search_prefer(struct search *search, bool (*is_cheap)(void *user, const uint32_t *point),
                   void *user)
{
    search->context.is_cheap = is_cheap;
    search->context.user = user;
}

int search_propose(struct search *search, size_t count, uint32_t *points, struct error *error)
{
    size_t dimensions = search_space_dimensions(search->context.space);
    for (size_t i = 0; i < count; i++) {
        uint32_t *point = points + i * dimensions;
        int status = search->strategy->choose(search->state, &search->context, point, error);
        if (status < 0)
            return status;
        if (status == 0)
            return (int)i;
        history_add(&search->history, point);
    }
    return (int)count;
}

bool search_has(const struct search *search, const uint32_t *point)
{
    return history_has(&search->history, point);
}

void search_tell(struct search *search, const uint32_t *point, double time_ns)
{
    history_tell(&search->history, point, time_ns);
}
