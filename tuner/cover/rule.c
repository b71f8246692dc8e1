#include "cover/rule.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

struct feature *features_add(struct features *features, const char *text, size_t sizes)
{
    struct feature *feature = ARRAY_APPEND(features->items, features->count);
    *feature = (struct feature){.text = alloc_string(text),
                                .values = alloc_zeroed(sizes, sizeof(double)),
                                .configuration = FEATURE_OF_ALL};
    return feature;
}

void features_release(struct features *features)
{
    for (size_t i = 0; i < features->count; i++) {
        free(features->items[i].text);
        free(features->items[i].values);
    }
    free(features->items);
    *features = (struct features){0};
}

static bool test_holds(const struct rule_test *test, const struct features *features, size_t size)
{
    double value = features->items[test->feature].values[size];
    if (test->against)
        return value <= features->items[test->other].values[size];
    return (value < test->threshold) == test->below;
}

bool rule_line_holds(const struct rule_line *line, const struct features *features, size_t size)
{
    for (size_t i = 0; i < line->test_count; i++)
        if (!test_holds(&line->tests[i], features, size))
            return false;
    return true;
}

size_t rule_decide(const struct rule *rule, const struct features *features, size_t size)
{
    size_t i = 0;
    while (i + 1 < rule->count && !rule_line_holds(&rule->lines[i], features, size))
        i++;
    return rule->lines[i].configuration;
}

struct loss rule_loss(const struct rule *rule, const struct losses *losses,
                      const struct features *features)
{
    struct loss loss = {0};
    for (size_t size = 0; size < losses->sizes; size++) {
        double own = losses_of(losses, rule_decide(rule, features, size), size);
        loss_add(&loss, losses->weights[size], own);
    }
    return loss;
}
