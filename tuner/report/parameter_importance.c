#include "report/parameter_importance.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double MATTERS = 0.01; /* total share from which on a parameter is worth a hint */

bool importances_usable(const struct importances *effects, const struct result *result)
{
    if (effects->of_time)
        return result->outcome == OUTCOME_MEASURED && result->time.median_ns > 0;
    return result->stats.known &&
           (result->outcome == OUTCOME_COMPILED || result->outcome == OUTCOME_MEASURED);
}

double importances_number(const struct importances *effects, const struct result *result)
{
    return effects->of_time ? result->time.median_ns : result->stats.occupancy;
}

bool importances_better(const struct importances *effects, double a, double b)
{
    return effects->of_time ? a < b : a > b;
}

/* -- levels -------------------------------------------------------------------------------------
 */

static double number_of(struct value value)
{
    return value.kind == VALUE_REAL ? value.as.real : (double)value.as.integer;
}

static bool is_number(struct value value)
{
    return value.kind == VALUE_INTEGER || value.kind == VALUE_REAL;
}

static int compare_levels(const void *left, const void *right)
{
    double a = number_of(((const struct importance_level *)left)->value);
    double b = number_of(((const struct importance_level *)right)->value);
    return (a > b) - (a < b);
}

size_t importance_level_of(const struct importance *effect, const struct result *result)
{
    const struct value *value = bindings_find(&result->parameters, effect->name);
    for (size_t i = 0; value != NULL && i < effect->level_count; i++)
        if (value_equal(effect->levels[i].value, *value))
            return i;
    return effect->level_count;
}

static void collect_levels(const struct study *study, struct importance *effect)
{
    bool numbers = true;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct value *value = bindings_find(&study->results[i].parameters, effect->name);
        if (value == NULL || importance_level_of(effect, &study->results[i]) < effect->level_count)
            continue;
        ARRAY_APPEND(effect->levels, effect->level_count)->value = *value;
        numbers = numbers && is_number(*value);
    }
    if (numbers && effect->level_count > 1)
        qsort(effect->levels, effect->level_count, sizeof *effect->levels, compare_levels);
}

static void count_levels(const struct study *study, const struct importances *effects,
                         struct importance *effect)
{
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        size_t index = importance_level_of(effect, result);
        if (index >= effect->level_count)
            continue;
        struct importance_level *level = &effect->levels[index];
        level->variants++;
        if (!importances_usable(effects, result))
            continue;
        double number = importances_number(effects, result);
        if (level->usable++ == 0 ||
            importances_better(effects, number,
                               importances_number(effects, &study->results[level->best])))
            level->best = i;
    }
}

/* -- shares of variance -------------------------------------------------------------------------
 */

/* The usable variants: what they yielded, and the level of each parameter, row by row. */
struct sample {
    double *numbers;
    size_t *levels; /* of variant i and parameter p at i * parameters + p */
    size_t count;
    size_t parameters;
    size_t hidden; /* the parameter that a comparison leaves out; or the only one it looks at */
    bool only;
};

static int compare_variants(const void *left, const void *right, void *context)
{
    const struct sample *sample = context;
    const size_t *a = &sample->levels[*(const size_t *)left * sample->parameters];
    const size_t *b = &sample->levels[*(const size_t *)right * sample->parameters];
    for (size_t p = 0; p < sample->parameters; p++) {
        if ((p == sample->hidden) != sample->only || a[p] == b[p])
            continue;
        return a[p] < b[p] ? -1 : 1;
    }
    return 0;
}

static double squares(const struct sample *sample, const size_t *variants, size_t count)
{
    double mean = 0;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        mean += sample->numbers[variants[i]] / (double)count;
    for (size_t i = 0; i < count; i++)
        sum += pow(sample->numbers[variants[i]] - mean, 2);
    return sum;
}

/* The sum of squares within groups of variants that compare equal; `order` holds every variant. */
static double squares_within(struct sample *sample, size_t *order)
{
    double sum = 0;
    if (sample->count > 1)
        qsort_r(order, sample->count, sizeof *order, compare_variants, sample);
    for (size_t begin = 0, end; begin < sample->count; begin = end) {
        for (end = begin + 1;
             end < sample->count && compare_variants(&order[begin], &order[end], sample) == 0;
             end++)
            ;
        sum += squares(sample, &order[begin], end - begin);
    }
    return sum;
}

static struct sample take_sample(const struct study *study, const struct importances *effects)
{
    struct sample sample = {.parameters = effects->count};
    sample.numbers = alloc_zeroed(study->result_count, sizeof *sample.numbers);
    sample.levels = alloc_zeroed(study->result_count, effects->count * sizeof *sample.levels);
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        if (!importances_usable(effects, result))
            continue;
        double number = importances_number(effects, result);
        size_t *levels = &sample.levels[sample.count * sample.parameters];
        sample.numbers[sample.count++] = effects->of_time ? log(number) : number;
        for (size_t p = 0; p < effects->count; p++)
            /* cppcheck-suppress objectIndex; an address in the array, not of `levels` */
            levels[p] = importance_level_of(&effects->items[p], result);
    }
    return sample;
}

static double share(double part, double whole)
{
    return fmin(fmax(part / whole, 0), 1);
}

/* The total sum of squares; 0 where it is only what rounding leaves of equal numbers. */
static double squares_of_all(const struct sample *sample, size_t *order)
{
    double scale = 0;
    for (size_t i = 0; i < sample->count; i++) {
        order[i] = i;
        scale = fmax(scale, fabs(sample->numbers[i]));
    }
    double whole = squares(sample, order, sample->count);
    return whole > (double)sample->count * pow(1e-12 * scale, 2) ? whole : 0;
}

/* Keeps the variants within a factor of two of the best. */
static void keep_near(struct sample *sample, bool of_time)
{
    double best = of_time ? INFINITY : 0;
    size_t kept = 0;
    for (size_t i = 0; i < sample->count; i++)
        best = of_time ? fmin(best, sample->numbers[i]) : fmax(best, sample->numbers[i]);
    for (size_t i = 0; i < sample->count; i++) {
        if (of_time ? sample->numbers[i] > best + log(2) : sample->numbers[i] < best / 2)
            continue;
        memmove(&sample->levels[kept * sample->parameters], &sample->levels[i * sample->parameters],
                sample->parameters * sizeof *sample->levels);
        sample->numbers[kept++] = sample->numbers[i];
    }
    sample->count = kept;
}

static void find_shares(const struct study *study, struct importances *effects)
{
    struct sample sample = take_sample(study, effects);
    size_t *order = alloc_zeroed(sample.count, sizeof *order);
    double whole = squares_of_all(&sample, order);
    for (size_t p = 0; p < effects->count && whole > 0; p++) {
        sample.hidden = p;
        sample.only = true;
        effects->items[p].alone = share(whole - squares_within(&sample, order), whole);
        sample.only = false;
        effects->items[p].total = share(squares_within(&sample, order), whole);
    }
    effects->usable = sample.count;
    effects->varies = whole > 0;
    keep_near(&sample, effects->of_time);
    whole = squares_of_all(&sample, order);
    for (size_t p = 0; p < effects->count && whole > 0; p++) {
        sample.hidden = p;
        effects->items[p].near = share(squares_within(&sample, order), whole);
    }
    free(order);
    free(sample.numbers);
    free(sample.levels);
}

/* -- effects ------------------------------------------------------------------------------------
 */

static int compare_effects(const void *left, const void *right)
{
    const struct importance *a = left;
    const struct importance *b = right;
    int order = (a->total < b->total) - (a->total > b->total);
    return order != 0 ? order : strcmp(a->name, b->name);
}

void importances_find(const struct study *study, struct importances *effects)
{
    *effects = (struct importances){.of_time = study_count(study, OUTCOME_MEASURED) > 0};
    size_t count = study->result_count > 0 ? study->results[0].parameters.count : 0;
    for (size_t i = 0; i < count; i++) {
        struct importance effect = {.name = study->results[0].parameters.items[i].name};
        collect_levels(study, &effect);
        count_levels(study, effects, &effect);
        if (effect.level_count > 1)
            *ARRAY_APPEND(effects->items, effects->count) = effect;
        else
            free(effect.levels);
    }
    find_shares(study, effects);
    if (effects->count > 1)
        qsort(effects->items, effects->count, sizeof *effects->items, compare_effects);
}

void importances_release(struct importances *effects)
{
    for (size_t i = 0; i < effects->count; i++)
        free(effects->items[i].levels);
    free(effects->items);
    *effects = (struct importances){0};
}

size_t importance_best_level(const struct importances *effects, const struct importance *effect,
                             const struct study *study)
{
    size_t best = effect->level_count;
    double best_number = 0;
    if (effects->of_time && study->has_winner)
        return importance_level_of(effect, &study->results[study->winner]);
    for (size_t i = 0; i < effect->level_count; i++) {
        if (effect->levels[i].usable == 0)
            continue;
        double number = importances_number(effects, &study->results[effect->levels[i].best]);
        if (best == effect->level_count || importances_better(effects, number, best_number)) {
            best = i;
            best_number = number;
        }
    }
    return best;
}

bool importance_best_at_end(const struct importances *effects, const struct importance *effect,
                            const struct study *study, bool *largest)
{
    size_t best = importance_best_level(effects, effect, study);
    if (effect->level_count < 3 || fmax(effect->total, effect->near) < MATTERS ||
        best == effect->level_count || !is_number(effect->levels[0].value) ||
        !is_number(effect->levels[best].value))
        return false;
    struct value value = effect->levels[best].value;
    *largest = best + 1 == effect->level_count;
    /* a count of one, or none, is not to be lowered */
    return *largest || (best == 0 && !(value.kind == VALUE_INTEGER && value.as.integer <= 1));
}
