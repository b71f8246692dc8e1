#include "cover/cover.h"

#include "base/alloc.h"
#include "cover/rule_learning.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The features that concern these configurations, at all sizes but `without`, without their texts;
 * `sources` are their indices in `features`. */
static void select_features(struct features *selected, const struct features *features,
                            const size_t *chosen, size_t count, size_t sizes, size_t without,
                            size_t *sources)
{
    *selected = (struct features){0};
    for (size_t i = 0; i < features->count; i++) {
        const struct feature *from = &features->items[i];
        bool concerns = from->configuration == FEATURE_OF_ALL;
        for (size_t j = 0; j < count; j++)
            concerns = concerns || from->configuration == chosen[j];
        if (!concerns)
            continue;
        sources[selected->count] = i;
        struct feature *to = features_add(selected, NULL, sizes);
        to->whole = from->whole;
        for (size_t size = 0, place = 0; size < sizes; size++)
            if (size != without)
                to->values[place++] = from->values[size];
    }
}

/* Makes the tests of a rule that was learnt from selected features name the original ones. */
static void name_features(struct rule *rule, const size_t *sources)
{
    for (size_t i = 0; i < rule->count; i++)
        for (size_t j = 0; j < rule->lines[i].test_count; j++) {
            struct rule_test *test = &rule->lines[i].tests[j];
            test->feature = sources[test->feature];
        }
}

/* Learns rules for the chosen configurations from all sizes but `without`. */
static size_t learn(const struct losses *losses, const struct features *features,
                    const size_t *chosen, size_t count, size_t without, struct rule *rules)
{
    struct losses part;
    struct features selected;
    size_t *sources = alloc_zeroed(features->count, sizeof *sources);
    losses_select(&part, losses, chosen, count, without);
    select_features(&selected, features, chosen, count, losses->sizes, without, sources);
    size_t learnt = rule_learn(&part, &selected, RULE_LINES, rules);
    for (size_t i = 0; i < learnt; i++)
        name_features(&rules[i], sources);
    features_release(&selected);
    losses_release(&part);
    free(sources);
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

/* Of the numbers at each size, `stride` apart. */
static struct loss loss_over(const struct losses *losses, const double *lost, size_t stride)
{
    struct loss loss = {0};
    for (size_t size = 0; size < losses->sizes; size++) {
        loss.mean += losses->weights[size] * lost[size * stride];
        loss.worst = fmax(loss.worst, lost[size * stride]);
    }
    return loss;
}

static double objective_over(const struct losses *losses, const double *lost, size_t stride)
{
    return loss_objective(loss_over(losses, lost, stride));
}

/* Whether losing `lost` is as good as losing `least`: no worse by more than what is worth a line or a
 * configuration, and the standard error of the difference, if that is small. */
static bool is_as_good(const struct losses *losses, const double *lost, const double *least,
                       size_t stride)
{
    static const double error_limit = 0.004;
    double difference =
        objective_over(losses, lost, stride) - objective_over(losses, least, stride);
    double mean = 0;
    double squares = 0;
    double weights = 0;
    for (size_t size = 0; size < losses->sizes; size++)
        mean += losses->weights[size] * (lost[size * stride] - least[size * stride]);
    for (size_t size = 0; size < losses->sizes; size++) {
        double weight = losses->weights[size];
        double own = lost[size * stride] - least[size * stride] - mean;
        squares += weight * own * own;
        weights += weight * weight;
    }
    return difference <= CHOICE_WORTH + fmin(sqrt(squares * weights), error_limit);
}

/* What rules of each number of lines lose at the sizes that they were learnt from. */
static void fit(const struct losses *losses, const struct features *features,
                const struct cover_option *option, struct rule *rules, double *fitted)
{
    size_t learnt = learn(losses, features, option->chosen, option->count, losses->sizes, rules);
    for (size_t i = learnt; i < RULE_LINES; i++)
        rules[i] = rules[learnt - 1];
    for (size_t size = 0; size < losses->sizes; size++)
        for (size_t i = 0; i < RULE_LINES; i++)
            fitted[size * RULE_LINES + i] =
                losses_of(losses, option->chosen[rule_decide(&rules[i], features, size)], size);
}

/*
 * The number of the shortest rule that is as good as any. What is lost at a size left out is too much,
 * because the size is missing, and what is lost at those that a rule was learnt from is too little; so
 * rules are judged by both (Efron's .632 estimator, 1983).
 */
static size_t enough_lines(const struct losses *losses, const double *judged)
{
    size_t least = 0;
    size_t index = 0;
    for (size_t i = 1; i < RULE_LINES; i++)
        if (objective_over(losses, judged + i, RULE_LINES) <
            objective_over(losses, judged + least, RULE_LINES))
            least = i;
    while (!is_as_good(losses, judged + index, judged + least, RULE_LINES))
        index++;
    return index;
}

static void compute_option(struct cover_option *option, const struct losses *losses,
                           const struct features *features, size_t limit)
{
    enum { FEWEST_SIZES = 3 };
    static const double left_out_share = 0.632;
    const size_t count = losses->sizes * RULE_LINES;
    struct rule rules[RULE_LINES];
    double *fitted = alloc_zeroed(count, sizeof *fitted);
    double *lost = alloc_zeroed(count, sizeof *lost);
    double *judged = alloc_zeroed(count, sizeof *judged);
    *option = (struct cover_option){
        .expected_at = alloc_zeroed(losses->sizes, sizeof *option->expected_at),
        .judged_at = alloc_zeroed(losses->sizes, sizeof *option->judged_at)};
    option->count = choice_make(losses, limit, CHOICE_WORTH, option->chosen);
    option->least = choice_loss(losses, option->chosen, option->count);
    fit(losses, features, option, rules, fitted);
    memcpy(lost, fitted, count * sizeof *lost);
    for (size_t size = 0; size < losses->sizes && losses->sizes >= FEWEST_SIZES; size++)
        leave_out(losses, features, limit, size, lost + size * RULE_LINES);
    for (size_t i = 0; i < count; i++)
        judged[i] = left_out_share * lost[i] + (1 - left_out_share) * fitted[i];
    size_t index = enough_lines(losses, judged);
    option->rule = rules[index];
    option->fitted = loss_over(losses, fitted + index, RULE_LINES);
    option->expected = loss_over(losses, lost + index, RULE_LINES);
    for (size_t size = 0; size < losses->sizes; size++) {
        option->expected_at[size] = lost[size * RULE_LINES + index];
        option->judged_at[size] = judged[size * RULE_LINES + index];
    }
    free(judged);
    free(lost);
    free(fitted);
}

static void release_option(struct cover_option *option)
{
    free(option->expected_at);
    free(option->judged_at);
}

/* The option with the fewest configurations that is as good as any. */
static size_t enough_configurations(const struct cover *cover, const struct losses *losses)
{
    size_t least = 0;
    size_t index = 0;
    for (size_t i = 1; i < cover->count; i++)
        if (objective_over(losses, cover->options[i].judged_at, 1) <
            objective_over(losses, cover->options[least].judged_at, 1))
            least = i;
    while (!is_as_good(losses, cover->options[index].judged_at, cover->options[least].judged_at, 1))
        index++;
    return index;
}

/* Drops the configurations that the rule never chooses. */
static void drop_unused(struct cover_option *option, const struct losses *losses)
{
    size_t count = 0;
    for (size_t i = 0; i < option->count; i++) {
        bool used = false;
        for (size_t j = 0; j < option->rule.count; j++) {
            struct rule_line *line = &option->rule.lines[j];
            used = used || line->configuration == i;
            if (line->configuration == i)
                line->configuration = count;
        }
        if (used)
            option->chosen[count++] = option->chosen[i];
    }
    option->count = count;
    option->least = choice_loss(losses, option->chosen, count);
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
            release_option(option);
            break;
        }
        cover->count++;
    }
    cover->best = enough_configurations(cover, losses);
    drop_unused(&cover->options[cover->best], losses);
}

void cover_release(struct cover *cover)
{
    for (size_t i = 0; i < cover->count; i++)
        release_option(&cover->options[i]);
    *cover = (struct cover){0};
}
