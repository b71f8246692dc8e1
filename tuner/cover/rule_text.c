#include "cover/rule_text.h"

#include "base/alloc.h"
#include "cover/threshold.h"

#include <stdlib.h>
#include <string.h>

/* "waves", or "waves(2)" if it is of another configuration than the line's. A new string. */
static char *feature_text(const struct feature *feature, size_t own, const size_t *chosen,
                          size_t count)
{
    size_t place = 0;
    if (feature->configuration == FEATURE_OF_ALL || feature->configuration == chosen[own])
        return alloc_string(feature->text);
    while (place + 1 < count && chosen[place] != feature->configuration)
        place++;
    return alloc_format("%s(%zu)", feature->text, place + 1);
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

char *rule_text(const struct rule_line *line, const struct features *features, const size_t *chosen,
                size_t count)
{
    char *text = NULL;
    for (size_t i = 0; i < line->test_count; i++) {
        char *test = test_text(&line->tests[i], features, line->configuration, chosen, count);
        char *longer = text != NULL ? alloc_format("%s and %s", text, test) : alloc_string(test);
        free(test);
        free(text);
        text = longer;
    }
    return text;
}
