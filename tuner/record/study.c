#include "record/study.h"

#include "base/alloc.h"
#include "base/statistics.h"
#include "base/value.h"
#include "search/search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- outcomes --- */

static const struct {
    const char *name;
    const char *meaning;
} outcomes[] = {
#define X(name, text, meaning) [OUTCOME_##name] = {text, meaning},
    OUTCOMES(X)
#undef X
};

const char *outcome_name(enum outcome outcome)
{
    return outcomes[outcome].name;
}

const char *outcome_meaning(enum outcome outcome)
{
    return outcomes[outcome].meaning;
}

int outcome_from_name(const char *name)
{
    for (int i = 0; i < OUTCOME_COUNT; i++)
        if (strcmp(outcomes[i].name, name) == 0)
            return i;
    return -1;
}

/* --- studies --- */

void result_release(struct result *result)
{
    bindings_release(&result->parameters);
    free(result->reason);
    free(result->decided_by);
    free(result->other_launches);
    free(result->samples_ns);
    *result = (struct result){0};
}

void study_release(struct study *study)
{
    for (size_t i = 0; i < study->result_count; i++)
        result_release(&study->results[i]);
    free(study->results);
    bindings_release(&study->problem);
    free(study->environment.command);
    free(study->kernel);
    free(study->template_name);
    free(study->template_hash);
    free(study->description);
    free(study->refusal);
    for (size_t i = 0; i < study->rejection_count; i++)
        free(study->rejections[i].constraint);
    free(study->rejections);
    free(study->gpus);
    *study = (struct study){0};
}

/* --- duplicates --- */

static int compare_runs(const void *left, const void *right)
{
    const struct result *a = *(const struct result *const *)left;
    const struct result *b = *(const struct result *const *)right;
    int order = strcmp(a->run_hash, b->run_hash);
    return order != 0 ? order : (a > b) - (a < b);
}

/* The results that duplicates may have as twins, by run_hash and then in order; a new array. */
static const struct result **sort_runs(const struct study *study, size_t *count)
{
    const struct result **runs = alloc_zeroed(study->result_count, sizeof *runs);
    *count = 0;
    for (size_t i = 0; i < study->result_count; i++)
        if (study->results[i].outcome != OUTCOME_DUPLICATE && study->results[i].run_hash[0] != '\0')
            runs[(*count)++] = &study->results[i];
    if (*count > 1)
        qsort(runs, *count, sizeof *runs, compare_runs);
    return runs;
}

/* The first of `runs` that is the duplicate's; NULL if none is. */
static const struct result *find_run(const struct result *const *runs, size_t count,
                                     const struct result *duplicate)
{
    size_t begin = 0;
    for (size_t end = count; begin < end;) {
        size_t middle = begin + (end - begin) / 2;
        if (strcmp(runs[middle]->run_hash, duplicate->run_hash) < 0)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin < count && strcmp(runs[begin]->run_hash, duplicate->run_hash) == 0 ? runs[begin]
                                                                                    : NULL;
}

static void take_run(struct result *duplicate, const struct result *twin)
{
    free(duplicate->reason);
    duplicate->reason = bindings_text(&twin->parameters);
    duplicate->time = twin->time;
    duplicate->runs = twin->runs;
    duplicate->bytes = twin->bytes;
    duplicate->operations = twin->operations;
    if (twin->stats.known)
        duplicate->stats = twin->stats;
}

void study_link_twins(struct study *study)
{
    size_t count;
    if (study_count(study, OUTCOME_DUPLICATE) == 0)
        return;
    const struct result **runs = sort_runs(study, &count);
    for (size_t i = 0; i < study->result_count; i++) {
        struct result *result = &study->results[i];
        if (result->outcome != OUTCOME_DUPLICATE)
            continue;
        const struct result *twin = find_run(runs, count, result);
        result->twin = twin != NULL ? (size_t)(twin - study->results) : study->result_count;
        if (twin != NULL)
            take_run(result, twin);
    }
    free(runs);
}

const struct result *study_run(const struct study *study, const struct result *result)
{
    bool has_twin = result->outcome == OUTCOME_DUPLICATE && result->twin < study->result_count;
    return has_twin ? &study->results[result->twin] : result;
}

bool result_is_refuted(const struct result *run)
{
    return (run->outcome == OUTCOME_WRONG_RESULT || run->outcome == OUTCOME_FAULT ||
            run->outcome == OUTCOME_TIMEOUT) &&
           !(run->limit_s > 0 && run->limit_s <= LIMIT_KILLED_S);
}

/* --- what is in a study --- */

double study_empty_ns(const struct study *study, const struct result *result)
{
    return result->runs > 1 ? study->empty_batch_ns : study->empty_kernel_ns;
}

size_t study_batched(const struct study *study, int *runs, size_t *single)
{
    size_t batched = 0;
    *runs = 1;
    *single = 0;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        if (result->runs > 1 && result->outcome != OUTCOME_DUPLICATE) {
            *runs = result->runs;
            batched++;
        } else if (result->outcome == OUTCOME_MEASURED) {
            ++*single;
        }
    }
    return batched;
}

uint64_t study_space(const struct study *study)
{
    return study->points > study->rejected ? study->points - study->rejected : 0;
}

bool study_is_partial(const struct study *study)
{
    return study->result_count < study_space(study);
}

size_t study_count(const struct study *study, enum outcome outcome)
{
    size_t count = 0;
    for (size_t i = 0; i < study->result_count; i++)
        count += study->results[i].outcome == outcome;
    return count;
}

size_t study_best(const struct study *study)
{
    if (study->has_winner)
        return study->winner;
    size_t best = study->result_count;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        if (result->outcome == OUTCOME_MEASURED && result->time.count > 0 &&
            (best == study->result_count ||
             result->time.median_ns < study->results[best].time.median_ns))
            best = i;
    }
    return best;
}

/* 0: measured, 1: compiled, 2: anything else. */
static int rank_class(const struct result *result)
{
    if (result->outcome == OUTCOME_MEASURED)
        return 0;
    return result->outcome == OUTCOME_COMPILED ? 1 : 2;
}

static int ascending(double a, double b)
{
    return (a > b) - (a < b);
}

/* Numbers by size, anything else by its text. */
static int compare_values(struct value a, struct value b)
{
    char first[VALUE_TEXT_BYTES];
    char second[VALUE_TEXT_BYTES];
    return number_is(&a) && number_is(&b) ? ascending(number_real(&a), number_real(&b))
                                          : strcmp(value_text(a, first), value_text(b, second));
}

int study_compare_values(const struct bindings *a, const struct bindings *b)
{
    int order = 0;
    for (size_t i = 0; i < a->count && i < b->count && order == 0; i++) {
        order = strcmp(a->items[i].name, b->items[i].name);
        if (order == 0)
            order = compare_values(a->items[i].value, b->items[i].value);
    }
    return order != 0 ? order : (a->count > b->count) - (a->count < b->count);
}

static int compare_rank(const void *left, const void *right, void *context)
{
    const struct study *study = context;
    size_t a = *(const size_t *)left;
    size_t b = *(const size_t *)right;
    const struct result *first = &study->results[a];
    const struct result *second = &study->results[b];
    int order = rank_class(first) - rank_class(second);
    if (order == 0 && study->has_winner)
        order = (b == study->winner) - (a == study->winner);
    if (order == 0 && first->outcome == OUTCOME_MEASURED)
        order = ascending(first->time.median_ns, second->time.median_ns);
    if (order == 0 && first->outcome == OUTCOME_COMPILED)
        order = ascending(second->stats.occupancy, first->stats.occupancy);
    if (order == 0 && first->outcome != OUTCOME_MEASURED)
        order = study_compare_values(&first->parameters, &second->parameters);
    return order != 0 ? order : (a > b) - (a < b);
}

void study_rank(const struct study *study, size_t *indices)
{
    for (size_t i = 0; i < study->result_count; i++)
        indices[i] = i;
    if (study->result_count > 1)
        qsort_r(indices, study->result_count, sizeof *indices, compare_rank,
                (void *)(uintptr_t)study);
}

char *study_key(const struct study *study)
{
    char *problem = bindings_text(&study->problem);
    char *key = alloc_format("%s|%s|%s|%s|%s", study->kernel, study->environment.gpu.name,
                             study->environment.gpu.arch, problem, study->cache);
    free(problem);
    return key;
}

/* --- GPUs --- */

/* At least this is assumed, since a few variants do not show all. */
static const double least_spread = 0.01;

json_t *study_gpus_to_json(const struct study_gpu *gpus, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct study_gpu *gpu = &gpus[i];
        json_t *object = json_pack("{s:s, s:I, s:I, s:f, s:f}", "uuid", gpu->uuid, "compared",
                                   (json_int_t)gpu->compared, "failed", (json_int_t)gpu->failed,
                                   "ratio", gpu->ratio, "spread", gpu->spread);
        (void)json_array_append_new(array, object);
    }
    return array;
}

struct study_gpu *study_gpus_from_json(const json_t *json, size_t *count)
{
    struct study_gpu *gpus = NULL;
    size_t index;
    json_t *object;
    *count = 0;
    json_array_foreach(json, index, object)
    {
        struct study_gpu gpu = {0};
        const char *uuid;
        json_int_t compared;
        json_int_t failed;
        if (json_unpack(object, "{s:s, s:I, s:I, s:F, s:F}", "uuid", &uuid, "compared", &compared,
                        "failed", &failed, "ratio", &gpu.ratio, "spread", &gpu.spread) != 0)
            continue;
        (void)snprintf(gpu.uuid, sizeof gpu.uuid, "%s", uuid);
        gpu.compared = (size_t)compared;
        gpu.failed = (size_t)failed;
        *ARRAY_APPEND(gpus, *count) = gpu;
    }
    return gpus;
}

size_t study_gpus_find(const struct study_gpu *gpus, size_t count, const char *uuid)
{
    size_t i = 0;
    while (i < count && strcmp(gpus[i].uuid, uuid) != 0)
        i++;
    return i;
}

void study_gpu_compare(struct study_gpu *gpu, const double *ratios, size_t count)
{
    gpu->compared = count;
    gpu->ratio = count > 0 ? statistics_median(ratios, count) : 0;
    gpu->spread = 0;
    for (size_t i = 0; i < count; i++)
        gpu->spread = fmax(gpu->spread, fabs(ratios[i] / gpu->ratio - 1));
}

double study_gpus_ratio(const struct study_gpu *gpus, size_t count, const char *uuid)
{
    size_t i = study_gpus_find(gpus, count, uuid);
    return i < count && gpus[i].ratio > 0 ? gpus[i].ratio : 1;
}

double study_gpus_spread(const struct study_gpu *gpus, size_t count)
{
    double spread = count > 1 ? least_spread : 0;
    for (size_t i = 0; i < count; i++)
        if (gpus[i].spread > spread)
            spread = gpus[i].spread;
    return spread;
}

/* --- estimate --- */

static int compare_seen(const void *left, const void *right)
{
    const struct result *a = *(const struct result *const *)left;
    const struct result *b = *(const struct result *const *)right;
    int order = (a->seen_s > b->seen_s) - (a->seen_s < b->seen_s);
    return order != 0 ? order : (a > b) - (a < b);
}

const struct result **study_by_time(const struct study *study)
{
    const struct result **order = alloc_zeroed(study->result_count, sizeof *order);
    for (size_t i = 0; i < study->result_count; i++)
        order[i] = &study->results[i];
    if (study->result_count > 1)
        qsort(order, study->result_count, sizeof *order, compare_seen);
    return order;
}

double study_estimate(const struct study *study, size_t *in_vain)
{
    size_t count = study->result_count;
    *in_vain = 0;
    if (!study_is_partial(study))
        return study_space(study) > 0 ? 0 : NAN;
    const struct result **order = study_by_time(study);
    double *times_ns = alloc_zeroed(count, sizeof *times_ns);
    for (size_t i = 0; i < count; i++)
        times_ns[i] = order[i]->outcome == OUTCOME_MEASURED ? order[i]->time.median_ns : INFINITY;
    double within = search_estimate(times_ns, count, in_vain);
    free(order);
    free(times_ns);
    return within;
}
