/*
 * The strategies of a search; the one that draws at random is in search.c. To add one, write its
 * functions in search/strategy_NAME.c, declare it here, and add a line to the table in search.c;
 * `autotune simulate --strategy NAME` then measures it.
 */
#ifndef AUTOTUNE_STRATEGY_H
#define AUTOTUNE_STRATEGY_H

#include "base/error.h"
#include "search/known_results.h"
#include "search/search_space.h"

#include <stddef.h>
#include <stdint.h>

/* What a strategy works with; the search owns it. */
struct strategy_context {
    struct search_space *space;
    const struct history *history;
    struct known_results *known; /* from elsewhere */
    size_t evaluations;          /* planned; 0: unknown */
    uint64_t random;             /* the state of statistics_random() */
};

struct search_strategy {
    const char *name;

    /* Its state, for a context that outlives it. NULL functions: it has none. */
    void *(*new)(struct strategy_context *context);
    void (*free)(void *state);

    /* Chooses one point that the history does not have. Returns 1; 0 if none is left; an error as
     * search_propose() does. */
    int (*choose)(void *state, struct strategy_context *context, uint32_t *point,
                  struct error *error);
};

extern const struct search_strategy strategy_model;

/* A random point that the history does not have. Returns as `choose` does. */
int strategy_draw(struct strategy_context *context, uint32_t *point, struct error *error);

#endif
