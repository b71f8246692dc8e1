#include "tune/proposer.h"

#include "base/alloc.h"
#include "search/point_table.h"
#include "search/search.h"

#include <stdlib.h>
#include <string.h>

enum { SEED = 1 };

struct proposer {
    struct search_space *space;
    struct search *search;
    size_t dimensions;
    uint32_t *point;         /* of the call at hand */
    struct point_table seen; /* proposed, suggested or told */
    size_t *first;           /* positions in `seen` of those that go before the search's own */
    size_t first_count;      /* the last is the next */
};

struct proposer *proposer_new(const struct sweep_kernel *kernel, const struct bindings *fixed,
                              size_t evaluations)
{
    struct proposer *proposer = alloc_zeroed(1, sizeof *proposer);
    const struct search_options options = {.seed = SEED, .evaluations = evaluations};
    proposer->space = search_space_new(&kernel->template, kernel->values, kernel->constraints,
                                       kernel->constraint_count, fixed);
    proposer->search = search_new(proposer->space, &options);
    proposer->dimensions = search_space_dimensions(proposer->space);
    proposer->point = alloc_zeroed(proposer->dimensions, sizeof *proposer->point);
    proposer->seen.dimensions = proposer->dimensions;
    return proposer;
}

void proposer_free(struct proposer *proposer)
{
    if (proposer == NULL)
        return;
    search_free(proposer->search);
    search_space_free(proposer->space);
    point_table_release(&proposer->seen);
    free(proposer->point);
    free(proposer->first);
    free(proposer);
}

int proposer_has(struct proposer *proposer, const struct bindings *parameters, struct error *error)
{
    return search_space_point(proposer->space, parameters, proposer->point)
               ? search_space_has(proposer->space, proposer->point, error)
               : 0;
}

static void put_first(struct proposer *proposer, size_t position)
{
    *ARRAY_APPEND(proposer->first, proposer->first_count) = position;
}

void proposer_suggest(struct proposer *proposer, const struct bindings *parameters)
{
    if (proposer_has(proposer, parameters, NULL) != 1 ||
        point_table_find(&proposer->seen, proposer->point) != POINT_NONE)
        return;
    put_first(proposer, point_table_add(&proposer->seen, proposer->point));
}

void proposer_take_back(struct proposer *proposer, const struct bindings *parameters)
{
    if (!search_space_point(proposer->space, parameters, proposer->point))
        return;
    ptrdiff_t position = point_table_find(&proposer->seen, proposer->point);
    if (position != POINT_NONE)
        put_first(proposer, (size_t)position);
}

int proposer_next(struct proposer *proposer, struct bindings *parameters, struct error *error)
{
    if (proposer->first_count > 0) {
        size_t position = proposer->first[--proposer->first_count];
        search_space_bindings(proposer->space, point_table_at(&proposer->seen, position),
                              parameters);
        return 1;
    }
    for (;;) { /* the search does not know of suggestions that are under way */
        int status = search_propose(proposer->search, 1, proposer->point, error);
        if (status != 1)
            return status;
        if (point_table_find(&proposer->seen, proposer->point) != POINT_NONE)
            continue;
        (void)point_table_add(&proposer->seen, proposer->point);
        search_space_bindings(proposer->space, proposer->point, parameters);
        return 1;
    }
}

void proposer_tell(struct proposer *proposer, const struct bindings *parameters, double time_ns)
{
    if (!search_space_point(proposer->space, parameters, proposer->point))
        return;
    if (point_table_find(&proposer->seen, proposer->point) == POINT_NONE)
        (void)point_table_add(&proposer->seen, proposer->point);
    search_tell(proposer->search, proposer->point, time_ns > 0 ? time_ns : SEARCH_FAILED);
}
