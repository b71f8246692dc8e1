#include "search/search.h"

#include "base/alloc.h"
#include "base/statistics.h"
#include "search/strategy.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- at random --- */

/* If so many draws in a row were seen before, hardly anything is left. */
enum { DRAWS = 1000 };

int strategy_draw(struct strategy_context *context, uint32_t *point, struct error *error)
{
    int status = 1;
    for (int i = 0; i < DRAWS && status == 1; i++) {
        status = search_space_draw(context->space, &context->random, point, error);
        if (status == 1 && !history_has(context->history, point))
            return 1;
    }
    while (status == 1) { /* what is left, in order */
        status = search_space_next(context->space, point, error);
        if (status == 1 && !history_has(context->history, point))
            return 1;
    }
    return status;
}

static int choose_at_random(void *state, struct strategy_context *context, uint32_t *point,
                            struct error *error)
{
    (void)state;
    return strategy_draw(context, point, error);
}

static const struct search_strategy strategy_random = {.name = "random",
                                                       .choose = choose_at_random};

/* --- strategies --- */

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

struct search *search_new(struct search_space *space, const struct search_options *options)
{
    struct search *search = alloc_zeroed(1, sizeof *search);
    search->strategy = options->strategy != NULL ? options->strategy : strategies[0];
    history_init(&search->history, search_space_dimensions(space));
    search->context = (struct strategy_context){.space = space,
                                                .history = &search->history,
                                                .known = &search->known,
                                                .evaluations = options->evaluations,
                                                .random = statistics_seed(options->seed)};
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

/* --- estimate --- */

static const double improvement = 0.001;

static const struct {
    size_t in_vain;
    double within;
} levels[] = {{400, 0.01}, {150, 0.03}, {100, 0.1}};

double search_estimate(const double *times_ns, size_t count, size_t *in_vain)
{
    double best_ns = INFINITY;
    *in_vain = 0;
    for (size_t i = 0; i < count; i++) {
        bool better = times_ns[i] < best_ns * (1 - improvement);
        *in_vain = better || isinf(best_ns) ? 0 : *in_vain + 1;
        best_ns = fmin(best_ns, times_ns[i]);
    }
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (*in_vain >= levels[i].in_vain)
            return levels[i].within;
    return NAN;
}
