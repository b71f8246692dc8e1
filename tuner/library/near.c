#include "find.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The distance if nothing is known: farther than between any two GPUs. */
static const double far_away = 64;

static bool add_ratio(double a, double b, double *sum)
{
    if (!(a > 0) || !(b > 0))
        return false;
    *sum += fabs(log2(a / b));
    return true;
}

double find_gpu_distance(const struct tuned_gpu *a, const struct tuned_gpu *b)
{
    double sum = 0;
    int terms = add_ratio(a->sm_count, b->sm_count, &sum) +
                add_ratio((double)a->l2_bytes, (double)b->l2_bytes, &sum) +
                add_ratio(a->memory_gb_per_s, b->memory_gb_per_s, &sum);
    return terms > 0 ? sum / terms : far_away;
}

enum tuned_rule find_gpu_rule(const struct tuned_gpu *gpu, const struct tuned_gpu *tuned)
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

bool find_is_nearer(const struct tuned_query *query, const struct tuned_match *a,
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

bool find_same_number(const struct tuned_value *a, const struct tuned_value *b)
{
    if (a->kind == TUNED_INTEGER && b->kind == TUNED_INTEGER)
        return a->integer == b->integer;
    return !(a->real < b->real) && !(a->real > b->real) && !isnan(a->real) && !isnan(b->real);
}

size_t find_wanted(const struct wanted *wanted, const char *name, size_t guess)
{
    if (guess < wanted->count && find_same_name(wanted->items[guess]->name, name))
        return guess;
    size_t i = 0;
    while (i < wanted->count && !find_same_name(wanted->items[i]->name, name))
        i++;
    return i;
}
