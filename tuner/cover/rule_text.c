#include "cover/rule_text.h"

#include "base/alloc.h"
#include "cover/threshold.h"

#include <stdlib.h>
#include <string.h>

static size_t place_of(size_t configuration, const size_t *chosen, size_t count)
{
    size_t place = 0;
    while (place + 1 < count && chosen[place] != configuration)
        place++;
    return place;
}

/* "waves", or "waves(2)" if it is of another configuration than the line's. A new string. */
static char *feature_text(const struct feature *feature, size_t own, const size_t *chosen,
                          size_t count)
{
    if (feature->configuration == FEATURE_OF_ALL || feature->configuration == chosen[own])
        return alloc_string(feature->text);
    return alloc_format("%s(%zu)", feature->text,
                        place_of(feature->configuration, chosen, count) + 1);
}

static char *test_text(const struct rule_test *test, const struct features *features, size_t own,
                       const size_t *chosen, size_t count)
{
    const struct feature *feature = &features->items[test->feature];
    char *name = feature_text(feature, own, chosen, count);
    char number[THRESHOLD_TEXT_BYTES];
    bool divisible = feature->whole && test->threshold == 1 && strchr(name, '%') != NULL;
    char *text =
        divisible ? alloc_format("%s %s 0", name, test->below ? "==" : "!=")
                  : alloc_format("%s %s %s", name,
                                 test->below ? "<" : ">=", threshold_text(test->threshold, number));
    free(name);
    return text;
}

/* "time_1 <= min(time_2(2), time_3(3))" */
static char *estimates_text(const struct rule_line *line, const struct features *features,
                            const size_t *chosen, size_t count)
{
    char *others = NULL;
    for (size_t i = 0; i < line->test_count; i++) {
        size_t other = features->items[line->tests[i].other].configuration;
        size_t number = place_of(other, chosen, count) + 1;
        char *longer = others != NULL ? alloc_format("%s, time_%zu(%zu)", others, number, number)
                                      : alloc_format("time_%zu(%zu)", number, number);
        free(others);
        others = longer;
    }
    char *text = alloc_format(line->test_count > 1 ? "time_%zu <= min(%s)" : "time_%zu <= %s",
                              line->configuration + 1, others);
    free(others);
    return text;
}

char *rule_text(const struct rule_line *line, const struct features *features, const size_t *chosen,
                size_t count)
{
    char *text = NULL;
    if (line->test_count > 0 && line->tests[0].against)
        return estimates_text(line, features, chosen, count);
    for (size_t i = 0; i < line->test_count; i++) {
        char *test = test_text(&line->tests[i], features, line->configuration, chosen, count);
        char *longer = text != NULL ? alloc_format("%s and %s", text, test) : alloc_string(test);
        free(test);
        free(text);
        text = longer;
    }
    return text;
}
