#include "record/compare.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESAMPLES = 2000, SEED = 1 };

void compare_set_release(struct compare_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        tuned_entry_release(&set->items[i].entry);
        free(set->items[i].samples_ns);
    }
    free(set->items);
    *set = (struct compare_set){0};
}

const char *compare_status_name(enum compare_status status)
{
    static const char *const names[] = {
#define X(name, text) [COMPARE_##name] = text,
        COMPARE_STATUSES(X)
#undef X
    };
    return names[status];
}

const char *compare_configuration_name(enum compare_configuration configuration)
{
    static const char *const names[] = {
        [COMPARE_EQUAL] = "same", [COMPARE_TIED] = "tied", [COMPARE_DIFFERENT] = "differs"};
    return names[configuration];
}

/* The item of the same subject in `set`; with `same_cache`, of the same cache state as well. */
static const struct compare_item *find(const struct compare_set *set,
                                       const struct compare_item *item, bool same_cache)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct tuned_entry *entry = &set->items[i].entry;
        if (tuned_entry_same_kernel(entry, &item->entry) &&
            (!same_cache || strcmp(entry->cache, item->entry.cache) == 0))
            return &set->items[i];
    }
    return NULL;
}

/* What `item` of the set `own` is compared with: the same in the other cache state only if neither
 * has a counterpart in its own state. */
static const struct compare_item *counterpart(const struct compare_set *set,
                                              const struct compare_set *own,
                                              const struct compare_item *item)
{
    const struct compare_item *other = find(set, item, true);
    if (other != NULL)
        return other;
    other = find(set, item, false);
    return other != NULL && find(own, other, true) == NULL ? other : NULL;
}

static bool has_tie(const struct tuned_entry *entry, const struct bindings *parameters)
{
    for (size_t i = 0; i < entry->tie_count; i++)
        if (bindings_match(&entry->ties[i], parameters))
            return true;
    return false;
}

static enum compare_configuration compare_configurations(const struct tuned_entry *a,
                                                         const struct tuned_entry *b)
{
    if (bindings_match(&a->parameters, &b->parameters))
        return COMPARE_EQUAL;
    if (has_tie(a, &b->parameters) || has_tie(b, &a->parameters))
        return COMPARE_TIED;
    return COMPARE_DIFFERENT;
}

/* The ratio of two medians, with an interval from the ends of their two intervals. */
static struct interval ratio_of_entries(const struct tuned_entry *a, const struct tuned_entry *b)
{
    return (struct interval){.estimate = b->median_ns / a->median_ns,
                             .low = b->low_ns / a->high_ns,
                             .high = b->high_ns / a->low_ns};
}

/* The timer's resolution on one side, from its samples or from the three that an entry keeps. */
static double step_ns(const struct compare_item *item)
{
    const double kept[] = {item->entry.low_ns, item->entry.median_ns, item->entry.high_ns};
    if (item->sample_count > 0)
        return statistics_timer_step_ns(item->samples_ns, item->sample_count);
    return statistics_timer_step_ns(kept, sizeof kept / sizeof *kept);
}

/* The finer resolution of the two sides, relative to the shorter time. */
static double timer_resolution(const struct compare_item *a, const struct compare_item *b)
{
    double first = step_ns(a);
    double second = step_ns(b);
    double step = first > 0 && second > 0 ? fmin(first, second) : fmax(first, second);
    return step / fmin(a->entry.median_ns, b->entry.median_ns);
}

static enum compare_status judge(const struct interval *ratio, double resolution)
{
    double least = COMPARE_TOLERANCE + resolution;
    if (ratio->low > 1 + resolution && ratio->estimate > 1 + least)
        return COMPARE_SLOWER;
    if (ratio->high < 1 - resolution && ratio->estimate < 1 - least)
        return COMPARE_FASTER;
    return COMPARE_SAME;
}

static struct comparison compare_items(const struct compare_item *a, const struct compare_item *b)
{
    struct comparison comparison = {.a = a, .b = b};
    comparison.configuration = compare_configurations(&a->entry, &b->entry);
    comparison.sampled = a->sample_count > 0 && b->sample_count > 0;
    comparison.ratio = comparison.sampled
                           ? statistics_median_ratio(b->samples_ns, b->sample_count, a->samples_ns,
                                                     a->sample_count, RESAMPLES, SEED)
                           : ratio_of_entries(&a->entry, &b->entry);
    comparison.status = judge(&comparison.ratio, timer_resolution(a, b));
    return comparison;
}

struct comparison *compare_sets(const struct compare_set *a, const struct compare_set *b,
                                size_t *count)
{
    struct comparison *comparisons = NULL;
    *count = 0;
    for (size_t i = 0; i < a->count; i++) {
        const struct compare_item *other = counterpart(b, a, &a->items[i]);
        *ARRAY_APPEND(comparisons, *count) =
            other != NULL ? compare_items(&a->items[i], other)
                          : (struct comparison){.a = &a->items[i], .status = COMPARE_ONLY_A};
    }
    for (size_t i = 0; i < b->count; i++)
        if (counterpart(a, b, &b->items[i]) == NULL)
            *ARRAY_APPEND(comparisons, *count) =
                (struct comparison){.b = &b->items[i], .status = COMPARE_ONLY_B};
    return comparisons;
}

size_t compare_count(const struct comparison *comparisons, size_t count, enum compare_status status)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += comparisons[i].status == status;
    return found;
}

static void append_change(char **text, const char *name, const char *from, const char *to)
{
    if (strcmp(from, to) != 0)
        alloc_append(text, "%s%s %s -> %s", **text != '\0' ? ", " : "", name, from, to);
}

static const char *text_in(const struct bindings *bindings, const char *name,
                           char buffer[VALUE_TEXT_BYTES])
{
    const struct value *value = bindings_find(bindings, name);
    return value != NULL ? value_text(*value, buffer) : "none";
}

char *compare_difference(const struct comparison *comparison)
{
    char *text = alloc_string("");
    const struct bindings *from = &comparison->a->entry.parameters;
    const struct bindings *to = &comparison->b->entry.parameters;
    struct bindings names = {0};
    bindings_append(&names, from);
    bindings_append(&names, to);
    for (size_t i = 0; i < names.count; i++) {
        char before[VALUE_TEXT_BYTES];
        char after[VALUE_TEXT_BYTES];
        const char *name = names.items[i].name;
        append_change(&text, name, text_in(from, name, before), text_in(to, name, after));
    }
    bindings_release(&names);
    return text;
}

char *compare_circumstances(const struct comparison *comparison)
{
    char *text = alloc_string("");
    const struct tuned_entry *from = &comparison->a->entry;
    const struct tuned_entry *to = &comparison->b->entry;
    append_change(&text, "cache", from->cache, to->cache);
    append_change(&text, "measured in", from->runs > 1 ? "batches of runs" : "single runs",
                  to->runs > 1 ? "batches of runs" : "single runs");
    append_change(&text, "driver", from->driver, to->driver);
    append_change(&text, "NVRTC", from->nvrtc, to->nvrtc);
    append_change(&text, "tuning", from->incomplete ? "incomplete" : "complete",
                  to->incomplete ? "incomplete" : "complete");
    if (strcmp(from->template_hash, to->template_hash) != 0)
        alloc_append(&text, "%sthe template changed", text[0] != '\0' ? ", " : "");
    return text;
}
