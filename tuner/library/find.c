#include "table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The distance if nothing is known: farther than between any two GPUs. */
static const double far_away = 64;

/* The problem of the query: its values, then the template's defaults for the others. */
struct wanted {
    const struct tuned_value *items[2 * TUNED_PROBLEM_VALUES];
    double scales[2 * TUNED_PROBLEM_VALUES];
    size_t given; /* by the query itself */
    size_t count;
};

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

static void want(struct wanted *wanted, const struct tuned_value *value)
{
    for (size_t i = 0; i < wanted->count; i++)
        if (strcmp(wanted->items[i]->name, value->name) == 0)
            return;
    wanted->scales[wanted->count] = value->kind == TUNED_WORD ? 0 : tuned_scale(value->real);
    wanted->items[wanted->count++] = value;
}

static void make_wanted(struct wanted *wanted, const struct tuned_query *query,
                        const struct defaults *defaults)
{
    wanted->count = 0;
    for (size_t i = 0; i < query->problem_count; i++)
        want(wanted, &query->problem[i]);
    wanted->given = wanted->count;
    for (size_t i = 0; defaults != NULL && i < defaults->problem.count; i++)
        want(wanted, &defaults->problem.items[i]);
}

/* Usually both have their values in the same order. */
static size_t find_wanted(const struct wanted *wanted, const char *name, size_t guess)
{
    if (guess < wanted->count && strcmp(wanted->items[guess]->name, name) == 0)
        return guess;
    size_t i = 0;
    while (i < wanted->count && strcmp(wanted->items[i]->name, name) != 0)
        i++;
    return i;
}

/*
 * The distance of the configuration's problem from the wanted one; negative if it cannot be used.
 * `*whole` says whether all of its values were asked for, or are known defaults.
 */
static double size_distance(const struct tuned_configuration *configuration, const double *scales,
                            const struct wanted *wanted, bool *whole)
{
    double distance = 0;
    size_t given = 0;
    *whole = true;
    for (size_t i = 0; i < configuration->problem_count; i++) {
        const struct tuned_value *value = &configuration->problem[i];
        size_t at = find_wanted(wanted, value->name, i);
        if (at == wanted->count) {
            *whole = false;
            continue;
        }
        given += at < wanted->given;
        if ((value->kind == TUNED_WORD) != (wanted->items[at]->kind == TUNED_WORD) ||
            (value->kind == TUNED_WORD && strcmp(value->text, wanted->items[at]->text) != 0))
            return -1;
        distance += fabs(scales[i] - wanted->scales[at]);
    }
    return given == wanted->given && !isnan(distance) ? distance : -1;
}

static bool add_ratio(double a, double b, double *sum)
{
    if (!(a > 0) || !(b > 0))
        return false;
    *sum += fabs(log2(a / b));
    return true;
}

static double gpu_distance(const struct tuned_gpu *a, const struct tuned_gpu *b)
{
    double sum = 0;
    int terms = add_ratio(a->sm_count, b->sm_count, &sum) +
                add_ratio((double)a->l2_bytes, (double)b->l2_bytes, &sum) +
                add_ratio(a->memory_gb_per_s, b->memory_gb_per_s, &sum);
    return terms > 0 ? sum / terms : far_away;
}

/* The nearest rule by which a configuration for `tuned` may be used on `gpu`. */
static enum tuned_rule gpu_rule(const struct tuned_gpu *gpu, const struct tuned_gpu *tuned)
{
    if (gpu->compute_capability / 10 != tuned->compute_capability / 10)
        return TUNED_NOTHING;
    if (gpu->compute_capability != tuned->compute_capability)
        return TUNED_SAME_FAMILY;
    bool same_count =
        gpu->sm_count == 0 || tuned->sm_count == 0 || gpu->sm_count == tuned->sm_count;
    return strcmp(gpu->name, tuned->name) == 0 && same_count ? TUNED_NEAREST_SIZE
                                                             : TUNED_NEAREST_GPU;
}

/* Whether it was measured with the cache in the state that the query prefers. */
static bool has_cache(const struct tuned_query *query, const struct tuned_match *match)
{
    const char *wanted = query->cache != NULL ? query->cache : "cold";
    return match->from->cache != NULL && strcmp(match->from->cache, wanted) == 0;
}

/* Whether `a` is strictly nearer than `b`, which may be nothing. */
static bool is_nearer(const struct tuned_query *query, const struct tuned_match *a,
                      const struct tuned_match *b)
{
    if (b->rule == TUNED_NOTHING)
        return true;
    if (a->other_version != b->other_version)
        return a->other_version < b->other_version;
    if (a->rule != b->rule)
        return a->rule < b->rule;
    if (a->gpu_distance < b->gpu_distance || a->gpu_distance > b->gpu_distance)
        return a->gpu_distance < b->gpu_distance;
    if (a->size_distance < b->size_distance || a->size_distance > b->size_distance)
        return a->size_distance < b->size_distance;
    return has_cache(query, a) && !has_cache(query, b);
}

struct search {
    const struct tuned_query *query;
    enum tuned_rule limit;
    struct wanted wanted;
    const struct tuned_gpu *gpu; /* that has this rule and distance */
    enum tuned_rule rule;
    double gpu_distance;
};

static void measure_gpu(struct search *search, const struct tuned_gpu *gpu)
{
    if (gpu == search->gpu)
        return;
    search->gpu = gpu;
    search->rule = gpu_rule(search->query->gpu, gpu);
    search->gpu_distance = search->rule == TUNED_NOTHING || search->rule == TUNED_NEAREST_SIZE
                               ? 0
                               : gpu_distance(search->query->gpu, gpu);
}

/* Takes the configuration if it is nearer than the match so far; counts it if it cannot be used. */
static void consider(struct search *search, const struct tuned_configuration *configuration,
                     const double *scales, struct tuned_match *match)
{
    const char *hash = search->query->template_hash;
    struct tuned_match candidate; /* of it, only what is_nearer() reads is set */
    bool whole;
    candidate.from = configuration;
    candidate.other_version = hash != NULL && strcmp(configuration->template_hash, hash) != 0;
    candidate.size_distance = size_distance(configuration, scales, &search->wanted, &whole);
    measure_gpu(search, configuration->gpu);
    candidate.rule = search->rule;
    candidate.gpu_distance = search->gpu_distance;
    if (candidate.rule == TUNED_NEAREST_SIZE && whole && !(candidate.size_distance > 0))
        candidate.rule = TUNED_EXACT;
    match->candidates++;
    if (candidate.other_version && !search->query->accept_other_versions) {
        match->refused_versions++;
    } else if (candidate.size_distance < 0) {
        match->refused_problems++;
    } else if (candidate.rule == TUNED_NOTHING || candidate.rule > search->limit) {
        match->refused_gpus++;
    } else if (is_nearer(search->query, &candidate, match)) {
        match->rule = candidate.rule;
        match->from = configuration;
        match->gpu_distance = candidate.gpu_distance;
        match->size_distance = candidate.size_distance;
        match->other_version = candidate.other_version;
    }
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
    struct search search = {.query = query,
                            .limit = query->limit != TUNED_NOTHING ? query->limit : TUNED_DEFAULTS};
    const struct defaults *defaults =
        tuned_defaults_of(table, tuned_template_of(table, query->kernel));
    make_wanted(&search.wanted, query, defaults);
    for (size_t i = tuned_first_of(table, query->kernel);
         i < table->count && strcmp(table->configurations[i].kernel, query->kernel) == 0; i++)
        consider(&search, &table->configurations[i], table->scales[i], match);
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
