#include "table.h"

#include "base/tuned_reader.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The problem of the query: its values, then the template's defaults for the others. */
struct wanted {
    const struct tuned_value *items[2 * TUNED_PROBLEM_VALUES];
    double scales[2 * TUNED_PROBLEM_VALUES];
    size_t given; /* by the query itself */
    size_t count;
};

struct search {
    const struct tuned_query *query;
    enum tuned_rule limit;
    struct wanted wanted;
    /* the group that is considered */
    bool fits;  /* problems of its names and words may answer the query */
    bool whole; /* all values of its problem were asked for, or are known defaults */
    /* the numbers of its problem that were asked for: their places, and the wanted s(x) */
    struct {
        size_t at;
        double scale;
        const struct tuned_value *value;
    } targets[TUNED_PROBLEM_VALUES];
    size_t target_count;
};

/* --- what is near --- */

/* Whether two names are the same; that most are not, their first letters show. */
static bool same_name(const char *a, const char *b)
{
    return a[0] == b[0] && strcmp(a, b) == 0;
}

/* s(x) cannot tell very large or very small ones apart. */
static bool same_number(const struct tuned_value *a, const struct tuned_value *b)
{
    if (a->kind == TUNED_INTEGER && b->kind == TUNED_INTEGER)
        return a->integer == b->integer;
    return !(a->real < b->real) && !(a->real > b->real) && !isnan(a->real) && !isnan(b->real);
}

/* The distance if nothing is known: farther than between any two GPUs. */
static const double far_away = 64;

static bool add_ratio(double a, double b, double *sum)
{
    if (!(a > 0) || !(b > 0))
        return false;
    *sum += fabs(log2(a / b));
    return true;
}

static double distance_of_gpus(const struct tuned_gpu *a, const struct tuned_gpu *b)
{
    double sum = 0;
    int terms = add_ratio(a->sm_count, b->sm_count, &sum) +
                add_ratio((double)a->l2_bytes, (double)b->l2_bytes, &sum) +
                add_ratio(a->memory_gb_per_s, b->memory_gb_per_s, &sum);
    return terms > 0 ? sum / terms : far_away;
}

/* The nearest rule by which a configuration for `tuned` may be used on `gpu`; TUNED_NEAREST_SIZE if both
 * are the same. */
static enum tuned_rule rule_of_gpus(const struct tuned_gpu *gpu, const struct tuned_gpu *tuned)
{
    if (gpu->compute_capability / 10 != tuned->compute_capability / 10)
        return TUNED_NOTHING;
    if (gpu->compute_capability != tuned->compute_capability)
        return TUNED_SAME_FAMILY;
    return tuned_reader_same_gpu(gpu, tuned) ? TUNED_NEAREST_SIZE : TUNED_NEAREST_GPU;
}

/* Whether it was measured with the cache in the state that the query prefers. */
static bool has_cache(const struct tuned_query *query, const struct tuned_match *match)
{
    const char *wanted = query->cache != NULL ? query->cache : "cold";
    return match->from->cache != NULL && strcmp(match->from->cache, wanted) == 0;
}

/* Of the match's cover; SIZE_MAX if it is from none. */
static size_t count_ranges(const struct tuned_match *match)
{
    return match->from->cover != NULL ? match->from->cover->range_count : SIZE_MAX;
}

/* Outside of its range, a cover is a size among others. */
static enum tuned_rule kind_of(enum tuned_rule rule)
{
    return rule == TUNED_OUTSIDE_COVER ? TUNED_NEAREST_SIZE : rule;
}

/* Whether `a` is nearer than `b`, which may be no match at all. Of two equally near, a cover comes first,
 * one with fewer ranges before others, and then the first in the table. */
static bool is_nearer(const struct tuned_query *query, const struct tuned_match *a,
                      const struct tuned_match *b)
{
    if (b->rule == TUNED_NOTHING)
        return true;
    if (a->other_version != b->other_version)
        return a->other_version < b->other_version;
    if (kind_of(a->rule) != kind_of(b->rule))
        return kind_of(a->rule) < kind_of(b->rule);
    if (a->gpu_distance < b->gpu_distance || a->gpu_distance > b->gpu_distance)
        return a->gpu_distance < b->gpu_distance;
    if (a->size_distance < b->size_distance || a->size_distance > b->size_distance)
        return a->size_distance < b->size_distance;
    bool has = has_cache(query, a);
    if (has != has_cache(query, b))
        return has;
    size_t ranges = count_ranges(a);
    return ranges != count_ranges(b) ? ranges < count_ranges(b) : a->from < b->from;
}

static void take(const struct tuned_match *candidate, struct tuned_match *match)
{
    match->rule = candidate->rule;
    match->from = candidate->from;
    match->gpu_distance = candidate->gpu_distance;
    match->size_distance = candidate->size_distance;
    match->other_version = candidate->other_version;
    match->size = candidate->size;
    match->outside = candidate->outside;
}

/* --- the query --- */

/* The index of the wanted value of this name, or wanted->count. `guess` is tried first: usually both have
 * their values in the same order. */
static size_t find_wanted(const struct wanted *wanted, const char *name, size_t guess)
{
    if (guess < wanted->count && same_name(wanted->items[guess]->name, name))
        return guess;
    size_t i = 0;
    while (i < wanted->count && !same_name(wanted->items[i]->name, name))
        i++;
    return i;
}

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
        if (same_name(wanted->items[i]->name, value->name))
            return false;
    wanted->scales[wanted->count] = value->kind == TUNED_WORD ? 0 : value_scale(value->real);
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

/* --- configurations of one problem --- */

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
        exact = same_number(&member->configuration->problem[search->targets[i].at],
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
        } else if (is_nearer(search->query, &candidate, match)) {
            take(&candidate, match);
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
    candidate->gpu_distance = distance_of_gpus(search->query->gpu, group->model->gpu);
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
    candidate.rule = rule_of_gpus(query->gpu, model->gpu);
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

/* --- covers --- */

/* Whether the value that all problems of a cover have is the wanted one, if one is wanted. */
static bool has_value(const struct tuned_value *value, const struct tuned_value *wanted)
{
    if (value->kind == TUNED_WORD || wanted->kind == TUNED_WORD)
        return value->kind == wanted->kind && strcmp(value->text, wanted->text) == 0;
    return same_number(value, wanted);
}

/* False if the wanted problem is not one that the cover knows: other words, or a value that only one
 * side has. */
static bool see(const struct wanted *wanted, const struct cover *cover,
                struct value problem[COVER_VALUES])
{
    const struct tuned_configuration *model = cover->public.configurations;
    size_t given = 0;
    for (size_t i = 0; i < model->problem_count; i++) {
        size_t at = find_wanted(wanted, model->problem[i].name, i);
        if (at < wanted->count && !has_value(&model->problem[i], wanted->items[at]))
            return false;
        given += at < wanted->given;
    }
    for (size_t i = 0; i < cover->public.range_count; i++) {
        size_t at = find_wanted(wanted, cover->public.ranges[i].name, i);
        if (at == wanted->count || wanted->items[at]->kind == TUNED_WORD ||
            isnan(wanted->items[at]->real))
            return false;
        problem[i] = cover_value(wanted->items[at]);
        given += at < wanted->given;
    }
    return given == wanted->given;
}

/* False if there is no configuration that is allowed. */
static bool choose(const struct search *search, const struct cover *cover,
                   struct value problem[COVER_VALUES], struct tuned_match *candidate)
{
    const struct tuned_gpu *gpu = search->query->gpu;
    const struct tuned_gpu *measured = cover->public.configurations->gpu;
    problem[cover->public.range_count] =
        value_integer(gpu->sm_count > 0 ? gpu->sm_count : measured->sm_count);
    struct cover_choice choice;
    if (!cover_choose(cover, problem, &choice))
        return false;
    candidate->from = &cover->public.configurations[choice.configuration];
    candidate->size = choice.size;
    candidate->outside = !cover_has(cover, problem);
    candidate->size_distance = candidate->outside ? choice.distance : 0;
    candidate->rule = rule_of_gpus(gpu, measured);
    if (candidate->rule == TUNED_NEAREST_SIZE)
        candidate->rule = candidate->outside ? TUNED_OUTSIDE_COVER : TUNED_COVER;
    else
        candidate->gpu_distance = distance_of_gpus(gpu, measured);
    return true;
}

/* Takes the cover's configuration if it is nearer than the match so far; counts the cover's
 * configurations, and those that cannot be used. */
static void consider_cover(const struct search *search, const struct cover *cover,
                           struct tuned_match *match)
{
    const struct tuned_query *query = search->query;
    const struct tuned_configuration *model = cover->public.configurations;
    struct tuned_match candidate = {0};
    struct value problem[COVER_VALUES];
    candidate.other_version =
        query->template_hash != NULL && strcmp(model->template_hash, query->template_hash) != 0;
    match->candidates += cover->public.count;
    if (candidate.other_version && !query->accept_other_versions) {
        match->refused_versions += cover->public.count;
        return;
    }
    bool seen = see(&search->wanted, cover, problem);
    bool other_gpu = seen && rule_of_gpus(query->gpu, model->gpu) == TUNED_NOTHING;
    bool chosen = seen && !other_gpu && choose(search, cover, problem, &candidate);
    if (other_gpu || (chosen && candidate.rule > search->limit))
        match->refused_gpus += cover->public.count;
    else if (!chosen)
        match->refused_problems += cover->public.count;
    else if (is_nearer(query, &candidate, match))
        take(&candidate, match);
}

/* --- the answer --- */

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
        consider_cover(&search, table->sorted_covers[kernel->first_cover + i], match);
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
