/* What an entry's cover chooses. */
#ifndef AUTOTUNE_TESTS_COVER_CHOSEN_H
#define AUTOTUNE_TESTS_COVER_CHOSEN_H

#include "record/tuned_file.h"

/* For a problem that has a number for each range; false outside the range. */
static inline bool cover_chosen(const struct tuned_entry *entry, const struct bindings *problem,
                                size_t *configuration)
{
    struct value values[COVER_VALUES];
    struct cover_choice choice = {0};
    const size_t ranges = entry->cover->public.range_count;
    for (size_t i = 0; i < ranges; i++)
        values[i] = *bindings_find(problem, entry->cover->ranges[i].name);
    values[ranges] = value_integer(entry->sm_count);
    bool chosen = cover_has(entry->cover, values) && cover_choose(entry->cover, values, &choice);
    *configuration = choice.configuration;
    return chosen;
}

#endif
