#include "command/export_choice.h"

#include <string.h>

int export_check_versions(const struct command_query *query, size_t index, struct error *error)
{
    const struct tuned_configuration *first = tuned_at(query->table, index);
    const struct tuned_configuration *next;
    const char *hash = query->query.template_hash;
    if (hash != NULL && strcmp(first->template_name, query->template.name) == 0 &&
        strcmp(first->template_hash, hash) != 0)
        return error_set(error, ERROR_CONFIG,
                         "[%s] was tuned with another version of '%s'; tune again, or remove it",
                         first->section, query->template.path);
    for (; (next = tuned_at(query->table, index)) != NULL; index++)
        if (strcmp(next->kernel, first->kernel) == 0 &&
            strcmp(next->template_hash, first->template_hash) != 0)
            return error_set(error, ERROR_CONFIG,
                             "[%s] and [%s] come from different versions of the template; tune "
                             "again, or remove one",
                             first->section, next->section);
    return 0;
}

/* As look-ups tell values apart: as doubles, two large integers may be equal. */
static bool same_value(const struct tuned_value *a, const struct tuned_value *b)
{
    if (a->kind == TUNED_WORD || b->kind == TUNED_WORD)
        return strcmp(a->text, b->text) == 0;
    if (a->kind == TUNED_INTEGER && b->kind == TUNED_INTEGER)
        return a->integer == b->integer;
    return !(a->real < b->real) && !(a->real > b->real);
}

static bool same_problem(const struct tuned_configuration *a, const struct tuned_configuration *b)
{
    bool same = a->problem_count == b->problem_count;
    for (size_t i = 0; same && i < a->problem_count; i++)
        same = strcmp(a->problem[i].name, b->problem[i].name) == 0 &&
               same_value(&a->problem[i], &b->problem[i]);
    return same;
}

static bool is_cached_as(const struct tuned_configuration *configuration, const char *cache)
{
    return configuration->cache != NULL && strcmp(configuration->cache, cache) == 0;
}

bool export_takes(const struct command_query *query,
                  const struct tuned_configuration *configuration)
{
    const char *cache = query->cache != NULL ? query->cache : "cold";
    const struct tuned_configuration *other;
    if (is_cached_as(configuration, cache))
        return true;
    for (size_t i = 0; (other = tuned_at(query->table, i)) != NULL; i++)
        if (is_cached_as(other, cache) && strcmp(other->kernel, configuration->kernel) == 0 &&
            other->gpu == configuration->gpu &&
            (other->cover != NULL) == (configuration->cover != NULL) &&
            same_problem(other, configuration))
            return false;
    return true;
}
