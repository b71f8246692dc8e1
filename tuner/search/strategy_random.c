#include "search/strategy.h"

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

static int choose(void *state, struct strategy_context *context, uint32_t *point,
                  struct error *error)
{
    (void)state;
    return strategy_draw(context, point, error);
}

const struct search_strategy strategy_random = {.name = "random", .choose = choose};
