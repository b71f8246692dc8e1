#include "record/cover_choice.h"

#include "base/cover.h"

size_t cover_entry_count(const struct tuned_entry *entry)
{
    return entry->cover != NULL ? entry->cover->public.count : 1;
}

struct bindings cover_entry_parameters(const struct tuned_entry *entry, size_t configuration)
{
    struct bindings parameters = {0};
    if (entry->cover == NULL) {
        bindings_copy(&parameters, &entry->parameters);
        return parameters;
    }
    const struct cover_configuration *from = &entry->cover->configurations[configuration];
    for (size_t i = 0; i < from->count; i++)
        bindings_set(&parameters, from->parameters[i].name, cover_value(&from->parameters[i]));
    return parameters;
}

/* The problem as the cover sees it. False if it is not in the range. */
static bool see(const struct tuned_entry *entry, const struct bindings *problem,
                struct value values[COVER_VALUES])
{
    const struct cover *cover = entry->cover;
    const size_t ranges = cover->public.range_count;
    for (size_t i = 0; i < entry->problem.count; i++) {
        const struct value *value = bindings_find(problem, entry->problem.items[i].name);
        if (value == NULL || !value_alike(*value, entry->problem.items[i].value))
            return false;
    }
    for (size_t i = 0; i < ranges; i++) {
        const struct value *value = bindings_find(problem, cover->ranges[i].name);
        if (value == NULL || !number_is(value))
            return false;
        values[i] = *value;
    }
    values[ranges] = value_integer(entry->sm_count);
    return cover_has(cover, values);
}

bool cover_entry_choose(const struct tuned_entry *entry, const struct bindings *problem,
                        size_t *configuration)
{
    struct value values[COVER_VALUES];
    struct cover_choice choice;
    bool chosen = see(entry, problem, values) && cover_choose(entry->cover, values, &choice);
    if (chosen)
        *configuration = choice.configuration;
    return chosen;
}

bool cover_entry_allows(const struct tuned_entry *entry, size_t configuration,
                        const struct bindings *problem)
{
    struct value values[COVER_VALUES];
    return see(entry, problem, values) && cover_allows(entry->cover, configuration, values);
}
