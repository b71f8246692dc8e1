#include "cover/cover.h"

#include "base/alloc.h"
#include "cover/rule_learning.h"
#include "cover/time_calibration.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Standard errors above these do not excuse a shorter rule, or fewer configurations: those were
 * asked for. */
static const double line_error = 0.004;
static const double configuration_error = 0.001;

/* Ways to decide: rules of each number of lines, and estimated times. */
enum { BY_TIME = RULE_LEARNT_LINES, WAYS };

/* What a cover is computed from. */
struct given {
    const struct losses *losses;
    const struct features *features;
    const struct time_basis *basis; /* NULL: none */
    size_t first_estimate;          /* its place among the features; the others follow */
    size_t folds;                   /* parts of the sizes that are left out in turn */
    struct time_model *models;      /* [fold * configurations + configuration], without that fold;
                                       behind them, with all sizes */
};

/* The features that concern these configurations, at the sizes that are kept, without their texts;
 * `sources` are their indices in `features`. */
static void select_features(struct features *selected, const struct features *features,
                            const size_t *chosen, size_t count, size_t sizes, const bool *kept,
                            size_t *sources)
{
    *selected = (struct features){0};
    for (size_t i = 0; i < features->count; i++) {
        const struct feature *from = &features->items[i];
        bool concerns = from->configuration == FEATURE_OF_ALL;
        for (size_t j = 0; j < count; j++)
            concerns = concerns || from->configuration == chosen[j];
        if (!concerns || from->estimate)
            continue;
        sources[selected->count] = i;
        struct feature *to = features_add(selected, NULL, sizes);
        to->whole = from->whole;
        for (size_t size = 0, place = 0; size < sizes; size++)
            if (kept[size])
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

/* Learns rules for the chosen configurations from the sizes that are kept. */
static size_t learn(const struct given *given, const size_t *chosen, size_t count, const bool *kept,
                    struct rule *rules)
{
    struct losses part;
    struct features selected;
    size_t *sources = alloc_zeroed(given->features->count, sizeof *sources);
    losses_select(&part, given->losses, chosen, count, kept);
    select_features(&selected, given->features, chosen, count, given->losses->sizes, kept, sources);
    size_t learnt = rule_learn(&part, &selected, RULE_LEARNT_LINES, rules);
    for (size_t i = 0; i < learnt; i++)
        name_features(&rules[i], sources);
    features_release(&selected);
    losses_release(&part);
    free(sources);
    return learnt;
}

/* Chooses at most `limit` configurations by the sizes that are kept. */
static size_t choose(const struct losses *losses, size_t limit, const bool *kept, size_t *chosen)
{
    struct losses part;
    size_t *all = alloc_zeroed(losses->configurations, sizeof *all);
    for (size_t i = 0; i < losses->configurations; i++)
        all[i] = i;
    losses_select(&part, losses, all, losses->configurations, kept);
    size_t count = choice_make(&part, limit, CHOICE_WORTH, chosen);
    free(all);
    losses_release(&part);
    return count;
}

/* --- estimated times --- */

static void keep_other_folds(const struct given *given, size_t fold, bool *kept)
{
    for (size_t size = 0; size < given->losses->sizes; size++)
        kept[size] = size % given->folds != fold;
}

static void fit_models(struct given *given)
{
    size_t configurations = given->losses->configurations;
    bool *kept = alloc_zeroed(given->losses->sizes, sizeof *kept);
    given->models = alloc_zeroed((given->folds + 1) * configurations, sizeof *given->models);
    for (size_t fold = 0; fold <= given->folds; fold++) {
        keep_other_folds(given, fold, kept);
        time_models_fit(given->models + fold * configurations, given->basis, configurations, kept);
    }
    free(kept);
}

static const struct time_model *models_without(const struct given *given, size_t fold)
{
    return given->models + fold * given->losses->configurations;
}

/* The chosen configurations' models without a fold, calibrated. A new array; NULL if there is no basis,
 * or one of them cannot be estimated. */
static struct time_model *calibrate(const struct given *given, const size_t *chosen, size_t count,
                                    size_t fold, const bool *kept)
{
    if (given->basis == NULL)
        return NULL;
    struct time_model *models = alloc_zeroed(count, sizeof *models);
    bool known = true;
    for (size_t i = 0; i < count; i++) {
        models[i] = models_without(given, fold)[chosen[i]];
        known = known && models[i].count > 0;
    }
    if (known) {
        time_calibration_make(models, chosen, count, given->basis, given->losses, kept);
        return models;
    }
    free(models);
    return NULL;
}

/* Each configuration gets a feature for its estimates. */
static void add_estimates(const struct given *given, struct features *features)
{
    for (size_t i = 0; i < given->losses->configurations; i++) {
        struct feature *feature = features_add(features, "time", given->losses->sizes);
        feature->configuration = i;
        feature->estimate = true;
    }
}

/* What the configuration with the least estimate loses at a size. LOSS_FAILED if there are no models. */
static double lose_by_time(const struct given *given, const struct time_model *models,
                           const size_t *chosen, size_t count, size_t size)
{
    double least_ns = INFINITY;
    double lost = LOSS_FAILED;
    for (size_t i = 0; i < count && models != NULL; i++) {
        double time_ns = time_model_estimate(&models[i], given->basis, size);
        if (!(time_ns < least_ns))
            continue;
        least_ns = time_ns;
        lost = losses_of(given->losses, chosen[i], size);
    }
    return lost;
}

/* Each line compares its configuration's estimate with those of all later ones. */
static void make_rule_by_time(const struct given *given, const size_t *chosen, size_t count,
                              struct rule *rule)
{
    *rule = (struct rule){.count = count};
    for (size_t i = 0; i < count; i++) {
        struct rule_line *line = &rule->lines[i];
        line->configuration = i;
        for (size_t j = i + 1; j < count; j++)
            line->tests[line->test_count++] =
                (struct rule_test){.feature = given->first_estimate + chosen[i],
                                   .against = true,
                                   .other = given->first_estimate + chosen[j]};
    }
}

/* --- what is lost --- */

/* What the ways from `from` to before `to` lose at the sizes of a fold, if they are not known. */
static void leave_out(const struct given *given, const size_t *chosen, size_t count, size_t fold,
                      size_t from, size_t to, double *lost)
{
    struct rule rules[RULE_LINES];
    bool *kept = alloc_zeroed(given->losses->sizes, sizeof *kept);
    keep_other_folds(given, fold, kept);
    size_t learnt = from < BY_TIME ? learn(given, chosen, count, kept, rules) : 0;
    struct time_model *models = to > BY_TIME ? calibrate(given, chosen, count, fold, kept) : NULL;
    for (size_t size = fold; size < given->losses->sizes; size += given->folds) {
        double *own = lost + size * WAYS;
        for (size_t i = from; i < to && i < RULE_LEARNT_LINES; i++) {
            const struct rule *rule = &rules[i < learnt ? i : learnt - 1];
            own[i] =
                losses_of(given->losses, chosen[rule_decide(rule, given->features, size)], size);
        }
        if (to > BY_TIME)
            own[BY_TIME] = lose_by_time(given, models, chosen, count, size);
    }
    free(models);
    free(kept);
}

/* What a way loses at the sizes of a fold, if the configurations are chosen without these, too. */
static void choose_without(const struct given *given, size_t limit, size_t fold, size_t way,
                           double *lost)
{
    size_t chosen[CHOICE_LIMIT];
    bool *kept = alloc_zeroed(given->losses->sizes, sizeof *kept);
    keep_other_folds(given, fold, kept);
    size_t count = choose(given->losses, limit, kept, chosen);
    leave_out(given, chosen, count, fold, way, way + 1, lost);
    free(kept);
}

/* Of the numbers at each size, `stride` apart. */
static struct loss loss_over(const struct losses *losses, const double *lost, size_t stride)
{
    struct loss loss = {0};
    for (size_t size = 0; size < losses->sizes; size++)
        loss_add(&loss, losses->weights[size], lost[size * stride]);
    return loss;
}

static double objective_over(const struct losses *losses, const double *lost, size_t stride)
{
    return loss_objective(loss_over(losses, lost, stride));
}

/* Whether losing `lost` is as good as losing `least`: no worse by more than what is worth a line or a
 * configuration, and the standard error of the difference, up to `error_limit`. */
static bool is_as_good(const struct losses *losses, const double *lost, const double *least,
                       size_t stride, double error_limit)
{
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

/* Makes the rule of each way from all sizes; what they lose there. */
static void fit(const struct given *given, struct cover_option *option, struct rule *rules,
                double *fitted)
{
    const struct losses *losses = given->losses;
    bool *kept = alloc_zeroed(losses->sizes, sizeof *kept);
    keep_other_folds(given, given->folds, kept); /* all */
    size_t learnt = learn(given, option->chosen, option->count, kept, rules);
    for (size_t i = learnt; i < RULE_LEARNT_LINES; i++)
        rules[i] = rules[learnt - 1];
    option->models = calibrate(given, option->chosen, option->count, given->folds, kept);
    make_rule_by_time(given, option->chosen, option->count, &rules[BY_TIME]);
    for (size_t size = 0; size < losses->sizes; size++) {
        double *own = fitted + size * WAYS;
        for (size_t i = 0; i < RULE_LEARNT_LINES; i++)
            own[i] = losses_of(losses,
                               option->chosen[rule_decide(&rules[i], given->features, size)], size);
        own[BY_TIME] = lose_by_time(given, option->models, option->chosen, option->count, size);
    }
    free(kept);
}

/*
 * The shortest rule that is as good as any. What is lost at a size left out is too much, because the
 * size is missing, and what is lost at those that a rule was learnt from is too little; so rules are
 * judged by both (Efron's .632 estimator, 1983).
 */
static size_t enough_lines(const struct losses *losses, const double *judged)
{
    size_t least = 0;
    size_t index = 0;
    for (size_t i = 1; i < WAYS; i++)
        if (objective_over(losses, judged + i, WAYS) < objective_over(losses, judged + least, WAYS))
            least = i;
    while (!is_as_good(losses, judged + index, judged + least, WAYS, line_error))
        index++;
    return index;
}

static void compute_option(struct cover_option *option, const struct given *given, size_t limit)
{
    enum { FEWEST_SIZES = 3 };
    static const double left_out_share = 0.632;
    const struct losses *losses = given->losses;
    const size_t count = losses->sizes * WAYS;
    const size_t folds = losses->sizes >= FEWEST_SIZES ? given->folds : 0;
    struct rule rules[WAYS];
    double *fitted = alloc_zeroed(count, sizeof *fitted);
    double *lost = alloc_zeroed(count, sizeof *lost);
    double *judged = alloc_zeroed(count, sizeof *judged);
    *option = (struct cover_option){
        .expected_at = alloc_zeroed(losses->sizes, sizeof *option->expected_at),
        .judged_at = alloc_zeroed(losses->sizes, sizeof *option->judged_at)};
    option->count = choice_make(losses, limit, CHOICE_WORTH, option->chosen);
    option->least = choice_loss(losses, option->chosen, option->count);
    fit(given, option, rules, fitted);
    memcpy(lost, fitted, count * sizeof *lost);
    for (size_t fold = 0; fold < folds; fold++)
        leave_out(given, option->chosen, option->count, fold, 0, WAYS, lost);
    for (size_t i = 0; i < count; i++)
        judged[i] = left_out_share * lost[i] + (1 - left_out_share) * fitted[i];
    size_t index = enough_lines(losses, judged);
    for (size_t fold = 0; fold < folds; fold++)
        choose_without(given, limit, fold, index, lost);
    option->rule = rules[index];
    option->fitted = loss_over(losses, fitted + index, WAYS);
    option->expected = loss_over(losses, lost + index, WAYS);
    for (size_t size = 0; size < losses->sizes; size++) {
        option->expected_at[size] = lost[size * WAYS + index];
        option->judged_at[size] = judged[size * WAYS + index];
    }
    free(judged);
    free(lost);
    free(fitted);
}

static void release_option(struct cover_option *option)
{
    free(option->expected_at);
    free(option->judged_at);
    free(option->models);
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
    while (!is_as_good(losses, cover->options[index].judged_at, cover->options[least].judged_at, 1,
                       configuration_error))
        index++;
    return index;
}

/* Sets the estimates of the best option's configurations. */
static void set_estimates(const struct cover *cover, const struct losses *losses,
                          struct features *features, const struct time_basis *basis)
{
    const struct cover_option *option = &cover->options[cover->best];
    for (size_t i = 0; i < option->count && option->models != NULL; i++)
        for (size_t size = 0; size < losses->sizes; size++)
            features->items[cover->first_estimate + option->chosen[i]].values[size] =
                time_model_estimate(&option->models[i], basis, size);
}

/* Whether a configuration of the option is needed where others are ruled out: of the first `kept` and those
 * behind it, none is allowed there. */
static bool is_needed(const struct cover_option *option, const struct losses *losses, size_t index,
                      size_t kept)
{
    bool needed = false;
    for (size_t size = 0; size < losses->sizes && !needed; size++) {
        needed = losses_alone(losses, option->chosen[index], size) < LOSS_FAILED;
        for (size_t i = 0; i < option->count; i++)
            if (i < kept || i > index)
                needed = needed && losses_alone(losses, option->chosen[i], size) >= LOSS_FAILED;
    }
    return needed;
}

/* Drops the configurations that the rule never chooses, unless one is needed where the rule's choice is
 * ruled out. */
static void drop_unused(struct cover_option *option, const struct losses *losses)
{
    size_t count = 0;
    for (size_t i = 0; i < option->count; i++) {
        bool used = is_needed(option, losses, i, count);
        for (size_t j = 0; j < option->rule.count; j++) {
            struct rule_line *line = &option->rule.lines[j];
            used = used || line->configuration == i;
            if (line->configuration == i)
                line->configuration = count;
        }
        if (used && option->models != NULL)
            option->models[count] = option->models[i];
        if (used)
            option->chosen[count++] = option->chosen[i];
    }
    option->count = count;
    option->least = choice_loss(losses, option->chosen, count);
}

void cover_choose(struct cover *cover, size_t index, const struct losses *losses,
                  struct features *features, const struct time_basis *basis)
{
    cover->best = index;
    set_estimates(cover, losses, features, basis);
    drop_unused(&cover->options[index], losses);
}

/* Each size alone, unless there are many. */
static size_t count_folds(size_t sizes)
{
    enum { ALONE = 24, FOLDS = 12 };
    return sizes <= ALONE ? sizes : FOLDS;
}

void cover_compute(struct cover *cover, const struct losses *losses, struct features *features,
                   const struct time_basis *basis, size_t limit)
{
    struct given given = {.losses = losses,
                          .features = features,
                          .basis = basis,
                          .first_estimate = features->count,
                          .folds = count_folds(losses->sizes)};
    assert(limit >= 1 && limit <= CHOICE_LIMIT && losses->sizes > 0 && losses->configurations > 0);
    *cover = (struct cover){.first_estimate = given.first_estimate};
    if (basis != NULL) {
        fit_models(&given);
        add_estimates(&given, features);
    }
    while (cover->count < limit) {
        struct cover_option *option = &cover->options[cover->count];
        compute_option(option, &given, cover->count + 1);
        if (option->count <= cover->count) { /* no more are worth it */
            release_option(option);
            break;
        }
        cover->count++;
    }
    cover_choose(cover, enough_configurations(cover, losses), losses, features, basis);
    free(given.models);
}

void cover_release(struct cover *cover)
{
    for (size_t i = 0; i < cover->count; i++)
        release_option(&cover->options[i]);
    *cover = (struct cover){0};
}
