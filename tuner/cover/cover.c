#include "cover/cover.h"

#include "base/alloc.h"
#include "cover/rule_learning.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* The features that concern these configurations, at all sizes but `without`. Texts are borrowed. */
static void select_features(struct features *selected, const struct features *features,
                            const size_t *chosen, size_t count, size_t sizes, size_t without)
{
    *selected = (struct features){0};
    for (size_t i = 0; i < features->count; i++) {
        const struct feature *from = &features->items[i];
        bool concerns = from->configuration == FEATURE_OF_ALL;
        for (size_t j = 0; j < count; j++)
            concerns = concerns || from->configuration == chosen[j];
        if (!concerns)
            continue;
        struct feature *to = features_add(selected, NULL, sizes);
        to->whole = from->whole;
        to->configuration = i; /* which feature it is a copy of */
        for (size_t size = 0, place = 0; size < sizes; size++)
            if (size != without)
                to->values[place++] = from->values[size];
    }
}

/* Makes the tests of a rule that was learnt from `selected` name the original features. */
static void name_features(struct rule *rule, const struct features *selected)
{
    for (size_t i = 0; i < rule->count; i++)
        for (size_t j = 0; j < rule->lines[i].test_count; j++) {
            struct rule_test *test = &rule->lines[i].tests[j];
            test->feature = selected->items[test->feature].configuration;
        }
}

/* Learns rules for the chosen configurations from all sizes but `without`. */
static size_t learn(const struct losses *losses, const struct features *features,
                    const size_t *chosen, size_t count, size_t without, struct rule *rules)
{
    struct losses part;
    struct features selected;
    losses_select(&part, losses, chosen, count, without);
    select_features(&selected, features, chosen, count, losses->sizes, without);
    size_t learnt = rule_learn(&part, &selected, RULE_LINES, rules);
    for (size_t i = 0; i < learnt; i++)
        name_features(&rules[i], &selected);
    features_release(&selected);
    losses_release(&part);
    return learnt;
}

/* Chooses at most `limit` configurations without size `without`. */
static size_t choose(const struct losses *losses, size_t limit, size_t without, size_t *chosen)
{
    struct losses part;
    size_t *all = alloc_zeroed(losses->configurations, sizeof *all);
    for (size_t i = 0; i < losses->configurations; i++)
        all[i] = i;
    losses_select(&part, losses, all, losses->configurations, without);
    size_t count = choice_make(&part, limit, CHOICE_WORTH, chosen);
    free(all);
    losses_release(&part);
    return count;
}

/* What rules of each number of lines lose at a size that they were learnt without. */
static void leave_out(const struct losses *losses, const struct features *features, size_t limit,
                      size_t size, double *lost)
{
    struct rule rules[RULE_LINES];
    size_t chosen[CHOICE_LIMIT];
    size_t count = choose(losses, limit, size, chosen);
    size_t learnt = learn(losses, features, chosen, count, size, rules);
    for (size_t i = 0; i < RULE_LINES; i++) {
        const struct rule *rule = &rules[i < learnt ? i : learnt - 1];
        lost[i] = losses_of(losses, chosen[rule_decide(rule, features, size)], size);
    }
}

/* Of rule number `index` of each fold. */
static struct loss fold_loss(const struct losses *losses, const double *lost, size_t index)
{
    struct loss loss = {0};
    for (size_t size = 0; size < losses->sizes; size++) {
        loss.mean += losses->weights[size] * lost[size * RULE_LINES + index];
        loss.worst = fmax(loss.worst, lost[size * RULE_LINES + index]);
    }
    return loss;
}

/* Whether losing `lost` is as good as losing `least_lost` at each size: no worse by more than what is
 * worth a line or a configuration, and the standard error of the difference. The tables have
 * `stride` numbers a size. */
static bool is_as_good(const struct losses *losses, const double *lost, const double *least_lost,
                       size_t stride, double difference)
{
    double mean = 0;
    double squares = 0;
    double weights = 0;
    for (size_t size = 0; size < losses->sizes; size++)
        mean += losses->weights[size] * (lost[size * stride] - least_lost[size * stride]);
    for (size_t size = 0; size < losses->sizes; size++) {
        double weight = losses->weights[size];
        double own = lost[size * stride] - least_lost[size * stride] - mean;
        squares += weight * own * own;
        weights += weight * weight;
    }
    return difference <= CHOICE_WORTH + sqrt(squares * weights);
}

/* The number of the shortest rule that is as good as any, at sizes left out. */
static size_t enough_lines(const struct losses *losses, const double *lost)
{
    double objectives[RULE_LINES];
    size_t least = 0;
    size_t index = 0;
    for (size_t i = 0; i < RULE_LINES; i++) {
        objectives[i] = loss_objective(fold_loss(losses, lost, i));
        least = objectives[i] < objectives[least] ? i : least;
    }
    while (!is_as_good(losses, lost + index, lost + least, RULE_LINES,
                       objectives[index] - objectives[least]))
        index++;
    return index;
}

static void take_fitted(struct cover_option *option, const struct losses *losses,
                        const struct features *features, size_t index)
{
    struct rule rules[RULE_LINES];
    struct losses part;
    size_t learnt = learn(losses, features, option->chosen, option->count, losses->sizes, rules);
    option->rule = rules[index < learnt ? index : learnt - 1];
    option->least = choice_loss(losses, option->chosen, option->count);
    losses_select(&part, losses, option->chosen, option->count, losses->sizes);
    option->fitted = rule_loss(&option->rule, &part, features);
    losses_release(&part);
}

static void compute_option(struct cover_option *option, const struct losses *losses,
                           const struct features *features, size_t limit)
{
    enum { FEWEST_SIZES = 3 };
    double *lost = alloc_zeroed(losses->sizes * RULE_LINES, sizeof *lost);
    size_t index = RULE_LINES - 1;
    *option = (struct cover_option){.expected_at =
                                        alloc_zeroed(losses->sizes, sizeof *option->expected_at)};
    option->count = choice_make(losses, limit, CHOICE_WORTH, option->chosen);
    if (losses->sizes >= FEWEST_SIZES) {
        for (size_t size = 0; size < losses->sizes; size++)
            leave_out(losses, features, limit, size, lost + size * RULE_LINES);
        index = enough_lines(losses, lost);
    }
    take_fitted(option, losses, features, index);
    option->expected =
        losses->sizes >= FEWEST_SIZES ? fold_loss(losses, lost, index) : option->fitted;
    for (size_t size = 0; size < losses->sizes; size++)
        option->expected_at[size] = lost[size * RULE_LINES + index];
    free(lost);
}

/* The option with the fewest configurations that is as good as any, at sizes left out. */
static size_t enough_configurations(const struct cover *cover, const struct losses *losses)
{
    size_t least = 0;
    size_t index = 0;
    for (size_t i = 1; i < cover->count; i++)
        if (loss_objective(cover->options[i].expected) <
            loss_objective(cover->options[least].expected))
            least = i;
    const struct cover_option *best = &cover->options[least];
    while (!is_as_good(losses, cover->options[index].expected_at, best->expected_at, 1,
                       loss_objective(cover->options[index].expected) -
                           loss_objective(best->expected)))
        index++;
    return index;
}

void cover_compute(struct cover *cover, const struct losses *losses,
                   const struct features *features, size_t limit)
{
    assert(limit >= 1 && limit <= CHOICE_LIMIT && losses->sizes > 0 && losses->configurations > 0);
    *cover = (struct cover){0};
    while (cover->count < limit) {
        struct cover_option *option = &cover->options[cover->count];
        compute_option(option, losses, features, cover->count + 1);
        if (option->count <= cover->count) { /* no more are worth it */
            free(option->expected_at);
            break;
        }
        cover->count++;
    }
    cover->best = enough_configurations(cover, losses);
}

void cover_release(struct cover *cover)
{
    for (size_t i = 0; i < cover->count; i++)
        free(cover->options[i].expected_at);
    *cover = (struct cover){0};
}
