#include "report/analysis.h"

#include "base/alloc.h"
#include "base/statistics.h"
#include "base/value.h"
#include "record/compare.h"
#include "record/gpu.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double MATTERS = 0.01; /* the least total share worth a hint */

bool importance_usable(const struct importance *importance, const struct result *result)
{
    if (importance->of_time)
        return (result->outcome == OUTCOME_MEASURED || result->outcome == OUTCOME_DUPLICATE) &&
               result->time.median_ns > 0;
    return result->stats.known &&
           (result->outcome == OUTCOME_COMPILED || result->outcome == OUTCOME_MEASURED);
}

double importance_number(const struct importance *importance, const struct result *result)
{
    return importance->of_time ? result->time.median_ns : result->stats.occupancy;
}

bool importance_better(const struct importance *importance, double a, double b)
{
    return importance->of_time ? a < b : a > b;
}

/* --- levels --- */

static int compare_levels(const void *left, const void *right)
{
    double a = number_real(&((const struct parameter_level *)left)->value);
    double b = number_real(&((const struct parameter_level *)right)->value);
    return (a > b) - (a < b);
}

/* The value's level, looked for from `from` on: the results are in the order of the values. */
static size_t find_level(const struct parameter_importance *parameter, const struct value *value,
                         size_t from)
{
    const size_t count = parameter->level_count;
    for (size_t i = 0; value != NULL && i < count; i++)
        if (value_equal(parameter->levels[(from + i) % count].value, *value))
            return (from + i) % count;
    return count;
}

static size_t level_from(const struct parameter_importance *parameter, const struct result *result,
                         size_t from)
{
    return find_level(parameter, bindings_find(&result->parameters, parameter->name), from);
}

size_t parameter_level_of(const struct parameter_importance *parameter, const struct result *result)
{
    return level_from(parameter, result, 0);
}

static void collect_levels(const struct study *study, struct parameter_importance *parameter)
{
    bool numbers = true;
    size_t level = 0;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct value *value = bindings_find(&study->results[i].parameters, parameter->name);
        level = find_level(parameter, value, level);
        if (value == NULL || level < parameter->level_count)
            continue;
        ARRAY_APPEND(parameter->levels, parameter->level_count)->value = *value;
        numbers = numbers && number_is(value);
    }
    if (numbers && parameter->level_count > 1)
        qsort(parameter->levels, parameter->level_count, sizeof *parameter->levels, compare_levels);
}

static void count_levels(const struct study *study, const struct importance *importance,
                         struct parameter_importance *parameter)
{
    size_t index = 0;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        index = level_from(parameter, result, index);
        if (index >= parameter->level_count)
            continue;
        struct parameter_level *level = &parameter->levels[index];
        level->variants++;
        if (!importance_usable(importance, result))
            continue;
        double number = importance_number(importance, result);
        if (level->usable++ == 0 ||
            importance_better(importance, number,
                              importance_number(importance, &study->results[level->best])))
            level->best = i;
    }
}

/* --- shares of variance --- */

/* The compared variants: the number and the parameters' levels of each. */
struct sample {
    double *numbers;
    size_t *levels; /* of variant i and parameter p at i * parameters + p */
    size_t count;
    size_t parameters;
    size_t hidden; /* the parameter that a comparison ignores, or the only one it sees */
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

/* Of differences from the first number, so that any number of equal ones gives 0. */
static double squares(const struct sample *sample, const size_t *variants, size_t count)
{
    double first = count > 0 ? sample->numbers[variants[0]] : 0;
    double mean = 0;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        mean += (sample->numbers[variants[i]] - first) / (double)count;
    for (size_t i = 0; i < count; i++)
        sum += pow(sample->numbers[variants[i]] - first - mean, 2);
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

static struct sample take_sample(const struct study *study, const struct importance *importance)
{
    struct sample sample = {.parameters = importance->count};
    sample.numbers = alloc_zeroed(study->result_count, sizeof *sample.numbers);
    sample.levels = alloc_zeroed(study->result_count, importance->count * sizeof *sample.levels);
    const size_t *before = sample.levels; /* of the last variant; the first one's are 0 */
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        if (!importance_usable(importance, result))
            continue;
        double number = importance_number(importance, result);
        size_t *levels = &sample.levels[sample.count * sample.parameters];
        sample.numbers[sample.count++] = importance->of_time ? log(number) : number;
        for (size_t p = 0; p < importance->count; p++)
            /* cppcheck-suppress objectIndex; an address in the array, not of `levels` */
            levels[p] = level_from(&importance->items[p], result, before[p]);
        before = levels;
    }
    return sample;
}

static double share(double part, double whole)
{
    return fmin(fmax(part / whole, 0), 1);
}

/* The total sum of squares; 0 if it is only rounding errors of equal numbers. */
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

static void find_shares(const struct study *study, struct importance *importance)
{
    struct sample sample = take_sample(study, importance);
    size_t *order = alloc_zeroed(sample.count, sizeof *order);
    double whole = squares_of_all(&sample, order);
    for (size_t p = 0; p < importance->count && whole > 0; p++) {
        sample.hidden = p;
        sample.only = true;
        importance->items[p].alone = share(whole - squares_within(&sample, order), whole);
        sample.only = false;
        importance->items[p].total =
            fmax(share(squares_within(&sample, order), whole), importance->items[p].alone);
    }
    importance->usable = sample.count;
    importance->varies = whole > 0;
    keep_near(&sample, importance->of_time);
    whole = squares_of_all(&sample, order);
    for (size_t p = 0; p < importance->count && whole > 0; p++) {
        sample.hidden = p;
        importance->items[p].near = share(squares_within(&sample, order), whole);
    }
    free(order);
    free(sample.numbers);
    free(sample.levels);
}

/* --- all parameters --- */

static int compare_parameters(const void *left, const void *right)
{
    const struct parameter_importance *a = left;
    const struct parameter_importance *b = right;
    int order = (a->total < b->total) - (a->total > b->total);
    return order != 0 ? order : strcmp(a->name, b->name);
}

void importance_find(const struct study *study, struct importance *importance)
{
    *importance = (struct importance){.of_time = study_count(study, OUTCOME_MEASURED) > 0};
    size_t count = study->result_count > 0 ? study->results[0].parameters.count : 0;
    for (size_t i = 0; i < count; i++) {
        struct parameter_importance parameter = {.name =
                                                     study->results[0].parameters.items[i].name};
        collect_levels(study, &parameter);
        count_levels(study, importance, &parameter);
        if (parameter.level_count > 1)
            *ARRAY_APPEND(importance->items, importance->count) = parameter;
        else
            free(parameter.levels);
    }
    find_shares(study, importance);
    if (importance->count > 1)
        qsort(importance->items, importance->count, sizeof *importance->items, compare_parameters);
}

void importance_release(struct importance *importance)
{
    for (size_t i = 0; i < importance->count; i++)
        free(importance->items[i].levels);
    free(importance->items);
    *importance = (struct importance){0};
}

size_t parameter_best_level(const struct importance *importance,
                            const struct parameter_importance *parameter, const struct study *study)
{
    size_t best = parameter->level_count;
    double best_number = 0;
    if (importance->of_time && study->has_winner)
        return parameter_level_of(parameter, &study->results[study->winner]);
    for (size_t i = 0; i < parameter->level_count; i++) {
        if (parameter->levels[i].usable == 0)
            continue;
        double number = importance_number(importance, &study->results[parameter->levels[i].best]);
        if (best == parameter->level_count || importance_better(importance, number, best_number)) {
            best = i;
            best_number = number;
        }
    }
    return best;
}

bool parameter_best_at_end(const struct importance *importance,
                           const struct parameter_importance *parameter, const struct study *study,
                           bool *largest)
{
    size_t best = parameter_best_level(importance, parameter, study);
    if (!importance->of_time || parameter->level_count < 3 ||
        fmax(parameter->total, parameter->near) < MATTERS || best == parameter->level_count ||
        !number_is(&parameter->levels[0].value) || !number_is(&parameter->levels[best].value))
        return false;
    struct value value = parameter->levels[best].value;
    *largest = best + 1 == parameter->level_count;
    /* a count of one or zero cannot be lowered */
    bool at_end =
        *largest || (best == 0 && !(value.kind == VALUE_INTEGER && value.as.integer <= 1));
    size_t slower = 0;
    const struct result *fastest = &study->results[parameter->levels[best].best];
    double step_ns = statistics_timer_step_ns(fastest->samples_ns, fastest->sample_count);
    for (size_t i = 0; i < parameter->level_count && at_end; i++) {
        const struct result *other = &study->results[parameter->levels[i].best];
        if (i == best || parameter->levels[i].usable == 0)
            continue;
        at_end =
            !other->tied && other->time.low_ns > fastest->time.high_ns &&
            other->time.median_ns > fastest->time.median_ns * (1 + COMPARE_TOLERANCE) + step_ns;
        slower++;
    }
    return at_end && slower > 0;
}

/* --- headroom --- */

enum { REGISTERS, SHARED, THREADS, RESOURCES }; /* of which a block uses some amount */

static bool compute(const struct gpu *gpu, const int64_t amounts[RESOURCES],
                    struct occupancy *occupancy)
{
    const struct occupancy_input input = {
        .block_threads = (int)amounts[THREADS],
        .registers = (int)amounts[REGISTERS],
        .dynamic_shared_bytes = amounts[SHARED],
    };
    return occupancy_compute(gpu, &input, occupancy, NULL) == 0;
}

char *headroom_text(const struct gpu *gpu, const struct kernel_stats *stats)
{
    static const char *const formats[RESOURCES] = {
        "%sregisters <= %" PRId64 ": %.0f %%",
        "%sshared <= %" PRId64 " B: %.0f %%",
        "%sblock of %" PRId64 ": %.0f %%",
    };
    /* no GPU allocates shared memory in smaller units; a smaller block may pack better or worse */
    const int64_t steps[RESOURCES] = {1, 128, gpu->attributes[GPU_warp_size]};
    const int64_t own[RESOURCES] = {stats->registers,
                                    stats->static_shared_bytes + stats->dynamic_shared_bytes,
                                    stats->block_threads};
    char *text = NULL;
    struct occupancy occupancy;
    bool known = stats->known && stats->block_threads > 0 && steps[THREADS] > 0 &&
                 compute(gpu, own, &occupancy);
    /* the driver may count resources that the calculator does not know, such as named barriers */
    double now = known ? fmax(stats->occupancy, occupancy.fraction) : 1;
    for (int i = 0; i < RESOURCES && now < 1 - 1e-9; i++) { /* occupancies are quotients */
        int64_t amounts[RESOURCES];
        bool helps = false;
        memcpy(amounts, own, sizeof own);
        amounts[i] = own[i] > 0 ? (own[i] - 1) / steps[i] * steps[i] : -1;
        while (amounts[i] >= 0 && !helps) {
            helps = compute(gpu, amounts, &occupancy) && occupancy.fraction > now + 1e-9;
            amounts[i] -= helps ? 0 : steps[i];
        }
        if (helps)
            alloc_append(&text, formats[i], text != NULL ? ", " : "", amounts[i],
                         100 * occupancy.fraction);
    }
    return text != NULL ? text : alloc_string("no single change");
}

/* --- roofs --- */

static int fp32_lanes(int compute_capability)
{
    static const struct {
        int compute_capability;
        int lanes;
    } table[] = {{60, 64}, {70, 64}, {72, 64}, {75, 64}, {80, 64}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].compute_capability == compute_capability)
            return table[i].lanes;
    return 128;
}

/* Cards of one name may have different numbers of SMs. */
static bool same_gpu(const struct study *a, const struct study *b)
{
    const struct gpu *first = &a->environment.gpu;
    const struct gpu *second = &b->environment.gpu;
    return strcmp(first->name, second->name) == 0 && strcmp(first->arch, second->arch) == 0 &&
           first->attributes[GPU_sm_count] == second->attributes[GPU_sm_count];
}

/* The best rate that kernels of the template reached: bytes, or operations, a nanosecond. */
static double measured(const struct study *subject, const struct study *studies, size_t count,
                       const char *template_name, bool bytes)
{
    double best = 0;
    for (size_t i = 0; i < count; i++) {
        const struct study *study = &studies[i];
        if (strcmp(study->template_name, template_name) != 0 || study->environment.static_mode ||
            !same_gpu(study, subject))
            continue;
        for (size_t j = 0; j < study->result_count; j++) {
            const struct result *result = &study->results[j];
            double work = bytes ? result->bytes : result->operations;
            if (result->outcome == OUTCOME_MEASURED && result->time.median_ns > 0)
                best = fmax(best, work / result->time.median_ns);
        }
    }
    return best;
}

void roofs_find(const struct study *subject, const struct study *studies, size_t count,
                struct roofs *roofs)
{
    const struct gpu *gpu = &subject->environment.gpu;
    const int64_t *attributes = gpu->attributes;
    *roofs = (struct roofs){
        .bytes_per_ns = measured(subject, studies, count, "roof_copy", true),
        .operations_per_ns = measured(subject, studies, count, "roof_fma", false),
    };
    roofs->bytes_measured = roofs->bytes_per_ns > 0;
    roofs->operations_measured = roofs->operations_per_ns > 0;
    if (!roofs->bytes_measured)
        roofs->bytes_per_ns = gpu_memory_gb_per_s(gpu); /* the same number */
    if (!roofs->operations_measured)
        roofs->operations_per_ns = (double)attributes[GPU_sm_count] *
                                   fp32_lanes(gpu->compute_capability) * 2 *
                                   (double)attributes[GPU_clock_khz] * 1e-6;
}

/* --- improvements --- */

struct improvement *improvements_of(const struct study *study, size_t *count)
{
    struct improvement *all = alloc_zeroed(study->result_count, sizeof *all);
    const struct result **order = study_by_time(study);
    size_t seen = 0;
    *count = 0;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = order[i];
        seen += result->seen_s > 0;
        if (result->seen_s <= 0 || result->outcome != OUTCOME_MEASURED ||
            (*count > 0 && result->time.median_ns >= all[*count - 1].result->time.median_ns))
            continue;
        all[(*count)++] = (struct improvement){.number = seen, .result = result};
    }
    free(order);
    return all;
}
