#include "record/cover_choice.h"

#include "base/cover.h"

#include <string.h>

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

/* --- what a cover makes superfluous --- */

static bool is_choice(const struct tuned_entry *entry, const struct tuned_entry *cover,
                      size_t configuration)
{
    struct bindings parameters = cover_entry_parameters(cover, configuration);
    bool is = bindings_alike(&entry->parameters, &parameters);
    for (size_t i = 0; i < entry->tie_count; i++)
        is = is || bindings_alike(&entry->ties[i], &parameters);
    bindings_release(&parameters);
    return is;
}

/* Whether the cover decides about the entry's problem, and what it chooses. */
static bool decides(const struct tuned_entry *cover, const struct tuned_entry *entry,
                    size_t *configuration)
{
    return strcmp(cover->kernel, entry->kernel) == 0 &&
           strcmp(cover->template_hash, entry->template_hash) == 0 &&
           tuned_entry_same_gpu(cover, entry) && strcmp(cover->cache, entry->cache) == 0 &&
           cover_entry_choose(cover, &entry->problem, configuration);
}

/* Whether an application without the entry gets its configuration, or one that ties, from a cover: as in
 * a look-up, from the one with the fewest ranges, the first of several. */
static bool is_covered(const struct tuned_file *tuned, const struct tuned_entry *entry)
{
    const struct tuned_entry *from = NULL;
    size_t chosen = 0;
    for (size_t i = 0; i < tuned->count && entry->cover == NULL; i++) {
        const struct tuned_entry *cover = &tuned->entries[i];
        if (cover->cover != NULL &&
            (from == NULL || cover->cover->public.range_count < from->cover->public.range_count) &&
            decides(cover, entry, &chosen))
            from = cover;
    }
    return from != NULL && is_choice(entry, from, chosen);
}

void cover_drop_covered(struct tuned_file *tuned)
{
    for (size_t i = tuned->count; i-- > 0;) {
        if (!is_covered(tuned, &tuned->entries[i]))
            continue;
        tuned_entry_release(&tuned->entries[i]);
        memmove(&tuned->entries[i], &tuned->entries[i + 1],
                (--tuned->count - i) * sizeof *tuned->entries);
    }
}
