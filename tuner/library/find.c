#include "find.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_valid(const struct tuned_query *query)
{
    if (query->kernel == NULL || query->gpu == NULL || query->gpu->compute_capability <= 0 ||
        query->problem_count > TUNED_PROBLEM_VALUES || query->limit < TUNED_NOTHING ||
        query->limit > TUNED_DEFAULTS || (query->problem == NULL && query->problem_count > 0))
        return false;
    for (size_t i = 0; i < query->problem_count; i++) {
        const struct tuned_value *value = &query->problem[i];
        if (value->name == NULL || (value->kind == TUNED_WORD && value->text == NULL) ||
            (value->kind != TUNED_INTEGER && value->kind != TUNED_REAL &&
             value->kind != TUNED_WORD))
            return false;
    }
    return true;
}

/* False if there is one of this name already. */
static bool want(struct wanted *wanted, const struct tuned_value *value)
{
    for (size_t i = 0; i < wanted->count; i++)
        if (find_same_name(wanted->items[i]->name, value->name))
            return false;
    wanted->scales[wanted->count] = value->kind == TUNED_WORD ? 0 : tuned_scale(value->real);
    wanted->items[wanted->count++] = value;
    return true;
}

/* False if the query has a value twice. */
static bool make_wanted(struct wanted *wanted, const struct tuned_query *query,
                        const struct defaults *defaults)
{
    wanted->count = 0;
    for (size_t i = 0; i < query->problem_count; i++)
        if (!want(wanted, &query->problem[i]))
            return false;
    wanted->given = wanted->count;
    for (size_t i = 0; defaults != NULL && i < defaults->problem.count; i++)
        (void)want(wanted, &defaults->problem.items[i]);
    return true;
}

/* Returns `fits` of a group, and sets `whole` and the targets. */
static bool set_targets(struct search *search, const struct tuned_configuration *model)
{
    const struct wanted *wanted = &search->wanted;
    size_t given = 0;
    search->whole = true;
    search->target_count = 0;
    for (size_t i = 0; i < model->problem_count; i++) {
        const struct tuned_value *value = &model->problem[i];
        size_t at = find_wanted(wanted, value->name, i);
        if (at == wanted->count) {
            search->whole = false;
            continue;
        }
        given += at < wanted->given;
        if ((value->kind == TUNED_WORD) != (wanted->items[at]->kind == TUNED_WORD) ||
            (value->kind == TUNED_WORD && strcmp(value->text, wanted->items[at]->text) != 0) ||
            isnan(wanted->scales[at]))
            return false;
        if (value->kind == TUNED_WORD)
            continue;
        search->targets[search->target_count].at = i;
        search->targets[search->target_count].value = wanted->items[at];
        search->targets[search->target_count++].scale = wanted->scales[at];
    }
    return given == wanted->given;
}

static double size_distance(const struct search *search, const struct member *member)
{
    double distance = 0;
    for (size_t i = 0; i < search->target_count; i++)
        distance += fabs(member->scales[search->targets[i].at] - search->targets[i].scale);
    return distance;
}

/* Whether it was tuned for the very problem that is asked for. */
static bool is_exact(const struct search *search, const struct member *member)
{
    bool exact = search->whole;
    for (size_t i = 0; i < search->target_count && exact; i++)
        exact = find_same_number(&member->configuration->problem[search->targets[i].at],
                                 search->targets[i].value);
    return exact;
}

/* Takes the group's members that are nearer than the match so far. `shared` has what they share. */
static void consider_members(const struct search *search, const struct member *members,
                             size_t count, const struct tuned_match *shared,
                             struct tuned_match *match)
{
    struct tuned_match candidate = *shared;
    for (size_t i = 0; i < count; i++) {
        candidate.from = members[i].configuration;
        candidate.size_distance = size_distance(search, &members[i]);
        bool exact = shared->rule == TUNED_NEAREST_SIZE && !(candidate.size_distance > 0) &&
                     is_exact(search, &members[i]);
        candidate.rule = exact ? TUNED_EXACT : shared->rule;
        if (candidate.rule > search->limit) {
            match->refused_gpus++;
        } else if (find_is_nearer(search->query, &candidate, match)) {
            match->rule = candidate.rule;
            match->from = candidate.from;
            match->gpu_distance = candidate.gpu_distance;
            match->size_distance = candidate.size_distance;
            match->other_version = candidate.other_version;
        }
    }
}

/* Whether no configuration with this rule and distance can be nearer than the match so far. */
static bool is_behind(const struct tuned_match *match, const struct tuned_match *candidate)
{
    if (match->rule == TUNED_NOTHING || match->other_version > candidate->other_version)
        return false;
    return match->other_version < candidate->other_version || match->rule < candidate->rule ||
           (match->rule == candidate->rule && match->gpu_distance < candidate->gpu_distance);
}

/* Takes the nearest configuration of a group on another GPU. */
static void consider_other_gpu(const struct search *search, const struct tuned_table *table,
                               const struct group *group, struct tuned_match *candidate,
                               struct tuned_match *match)
{
    if (is_behind(match, candidate))
        return;
    candidate->gpu_distance = find_gpu_distance(search->query->gpu, group->model->gpu);
    if (!is_behind(match, candidate))
        consider_members(search, &table->members[group->first], group->count, candidate, match);
}

/* Takes the group's nearest configuration if it is nearer than the match so far; counts those that
 * cannot be used. */
static void consider(struct search *search, const struct tuned_table *table,
                     const struct group *group, struct tuned_match *match)
{
    const struct tuned_query *query = search->query;
    const struct tuned_configuration *model = group->model;
    struct tuned_match candidate = {0};
    candidate.other_version =
        query->template_hash != NULL && strcmp(model->template_hash, query->template_hash) != 0;
    candidate.rule = find_gpu_rule(query->gpu, model->gpu);
    if (!group->like_last)
        search->fits = set_targets(search, model);
    match->candidates += group->count;
    if (candidate.other_version && !query->accept_other_versions)
        match->refused_versions += group->count;
    else if (!search->fits)
        match->refused_problems += group->count;
    else if (candidate.rule == TUNED_NEAREST_SIZE)
        consider_members(search, &table->members[group->first], group->count, &candidate, match);
    else if (candidate.rule == TUNED_NOTHING || candidate.rule > search->limit)
        match->refused_gpus += group->count;
    else
        consider_other_gpu(search, table, group, &candidate, match);
}

static void take_defaults(const struct defaults *defaults, struct tuned_match *match)
{
    match->rule = TUNED_DEFAULTS;
    match->parameters = defaults->parameters.items;
    match->parameter_count = defaults->parameters.count;
}

int tuned_find(const struct tuned_table *table, const struct tuned_query *query,
               struct tuned_match *match)
{
    memset(match, 0, sizeof *match);
    if (!is_valid(query))
        return TUNED_INVALID;
    const struct kernel *kernel = tuned_kernel_of(table, query->kernel);
    const struct defaults *defaults = tuned_defaults_for(table, kernel, query->kernel);
    struct search search; /* the rest is set when it is needed */
    search.fits = false;
    search.query = query;
    search.limit = query->limit != TUNED_NOTHING ? query->limit : TUNED_DEFAULTS;
    if (!make_wanted(&search.wanted, query, defaults))
        return TUNED_INVALID;
    for (size_t i = 0; kernel != NULL && i < kernel->group_count; i++)
        consider(&search, table, &table->groups[kernel->first_group + i], match);
    for (size_t i = 0; kernel != NULL && i < kernel->cover_count; i++)
        find_in_cover(&search, table->sorted_covers[kernel->first_cover + i], match);
    if (match->from != NULL) {
        match->parameters = match->from->parameters;
        match->parameter_count = match->from->parameter_count;
        match->incomplete = match->from->incomplete;
    } else if (defaults != NULL && search.limit >= TUNED_DEFAULTS) {
        take_defaults(defaults, match);
    }
    return match->rule != TUNED_NOTHING ? TUNED_OK : TUNED_NOT_FOUND;
}

const struct tuned_value *tuned_parameter(const struct tuned_match *match, const char *name)
{
    for (size_t i = 0; i < match->parameter_count; i++)
        if (strcmp(match->parameters[i].name, name) == 0)
            return &match->parameters[i];
    return NULL;
}

int64_t tuned_integer_of(const struct tuned_match *match, const char *name, int64_t fallback)
{
    const struct tuned_value *value = tuned_parameter(match, name);
    return value != NULL && value->kind == TUNED_INTEGER ? value->integer : fallback;
}

double tuned_real_of(const struct tuned_match *match, const char *name, double fallback)
{
    const struct tuned_value *value = tuned_parameter(match, name);
    return value != NULL && value->kind != TUNED_WORD ? value->real : fallback;
}

const char *tuned_word_of(const struct tuned_match *match, const char *name, const char *fallback)
{
    const struct tuned_value *value = tuned_parameter(match, name);
    return value != NULL && value->kind == TUNED_WORD ? value->text : fallback;
}
