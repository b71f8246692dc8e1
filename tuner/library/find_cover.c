#include "find.h"

#include <math.h>
#include <string.h>

/* A problem as a cover's rule sees it. */
struct sight {
    double values[COVER_VALUES]; /* one for each range, then the SMs */
    double scales[TUNED_PROBLEM_VALUES];
};

/* Whether the value that all problems of a cover have is the wanted one, if one is wanted. */
static bool has_value(const struct tuned_value *value, const struct tuned_value *wanted)
{
    if (value->kind == TUNED_WORD || wanted->kind == TUNED_WORD)
        return value->kind == wanted->kind && strcmp(value->text, wanted->text) == 0;
    return find_same_number(value, wanted);
}

/* False if the wanted problem is not one that the cover knows: other words, or a value that only one
 * side has. */
static bool see(const struct wanted *wanted, const struct cover *cover, struct sight *sight)
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
        sight->values[i] = wanted->items[at]->real;
        sight->scales[i] = wanted->scales[at];
        given += at < wanted->given;
    }
    return given == wanted->given;
}

/* Chooses by the nearest measured size whose fastest configuration is allowed; the first of those that
 * are as near. False if none is allowed, or if the cover's constraint, which may exclude sizes at which its
 * configurations are wrong, does not hold. */
static bool take_nearest_size(const struct cover *cover, const struct sight *sight,
                              struct tuned_match *candidate)
{
    const struct tuned_cover *public = &cover->public;
    bool allowed[COVER_CONFIGURATIONS];
    if (!cover_rule_allow(&cover->rule, sight->values, allowed))
        return false;
    candidate->size = NULL;
    candidate->size_distance = INFINITY;
    for (size_t i = 0; i < public->size_count; i++) {
        const double *scales = cover->scales + i * public->range_count;
        double distance = 0;
        for (size_t j = 0; j < public->range_count; j++)
            distance += fabs(scales[j] - sight->scales[j]);
        if (distance < candidate->size_distance && allowed[public->sizes[i].fastest]) {
            candidate->size_distance = distance;
            candidate->size = &public->sizes[i];
        }
    }
    candidate->line = public->line_count;
    candidate->from =
        candidate->size != NULL ? &public->configurations[candidate->size->fastest] : NULL;
    return candidate->size != NULL;
}

/* False if there is no configuration that is allowed. */
static bool choose(const struct search *search, const struct cover *cover, struct sight *sight,
                   struct tuned_match *candidate)
{
    const struct tuned_gpu *gpu = search->query->gpu;
    const struct tuned_gpu *measured = cover->public.configurations->gpu;
    sight->values[cover->public.range_count] =
        gpu->sm_count > 0 ? gpu->sm_count : measured->sm_count;
    bool inside = cover_rule_decide(&cover->rule, sight->values, &candidate->line);
    if (inside)
        candidate->from = &cover->public.configurations[cover->choices[candidate->line]];
    else if (!take_nearest_size(cover, sight, candidate))
        return false;
    candidate->rule = find_gpu_rule(gpu, measured);
    if (candidate->rule == TUNED_NEAREST_SIZE)
        candidate->rule = inside ? TUNED_COVER : TUNED_OUTSIDE_COVER;
    else
        candidate->gpu_distance = find_gpu_distance(gpu, measured);
    return true;
}

void find_in_cover(const struct search *search, const struct cover *cover,
                   struct tuned_match *match)
{
    const struct tuned_query *query = search->query;
    const struct tuned_configuration *model = cover->public.configurations;
    struct tuned_match candidate = {0};
    struct sight sight;
    candidate.other_version =
        query->template_hash != NULL && strcmp(model->template_hash, query->template_hash) != 0;
    match->candidates += cover->public.count;
    if (candidate.other_version && !query->accept_other_versions) {
        match->refused_versions += cover->public.count;
        return;
    }
    if (!see(&search->wanted, cover, &sight)) {
        match->refused_problems += cover->public.count;
        return;
    }
    if (find_gpu_rule(query->gpu, model->gpu) == TUNED_NOTHING) {
        match->refused_gpus += cover->public.count;
        return;
    }
    if (!choose(search, cover, &sight, &candidate)) {
        match->refused_problems += cover->public.count;
    } else if (candidate.rule > search->limit) {
        match->refused_gpus += cover->public.count;
    } else if (find_is_nearer(query, &candidate, match)) {
        match->rule = candidate.rule;
        match->from = candidate.from;
        match->gpu_distance = candidate.gpu_distance;
        match->size_distance = candidate.size_distance;
        match->other_version = candidate.other_version;
        match->line = candidate.line;
        match->size = candidate.size;
    }
}
