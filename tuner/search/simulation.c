#include "search/simulation.h"

#include "base/alloc.h"
#include "base/statistics.h"
#include "base/value.h"
#include "search/t4_file.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- the space --- */

/* Numbers in ascending order; words and booleans stay behind them. */
static int compare_values(const void *a, const void *b)
{
    const struct value *left = a;
    const struct value *right = b;
    if (!number_is(left) || !number_is(right))
        return number_is(right) - number_is(left);
    double difference = number_real(left) - number_real(right);
    return (difference > 0) - (difference < 0);
}

static bool same_names(const struct bindings *a, const struct bindings *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (bindings_find(b, a->items[i].name) == NULL)
            return false;
    return a->count == b->count;
}

static int take_parameters(const char *path, const struct t4_file *file,
                           struct measured_space *measured, struct error *error)
{
    const struct bindings *first = &file->results[0].parameters;
    measured->points.dimensions = first->count;
    measured->names = alloc_zeroed(first->count, sizeof *measured->names);
    measured->values = alloc_zeroed(first->count, sizeof *measured->values);
    for (size_t i = 0; i < first->count; i++)
        measured->names[i] = alloc_string(first->items[i].name);
    for (size_t r = 0; r < file->count; r++) {
        const struct bindings *parameters = &file->results[r].parameters;
        if (!same_names(first, parameters))
            return error_set_at(error, ERROR_CONFIG, path, 0,
                                "result %zu has other parameters than result 1", r + 1);
        for (size_t i = 0; i < first->count; i++) {
            struct value value = *bindings_find(parameters, measured->names[i]);
            struct value_list *list = &measured->values[i];
            size_t known = 0;
            while (known < list->count && !value_equal(list->values[known], value))
                known++;
            if (known < list->count)
                continue;
            if (value.kind == VALUE_WORD)
                value.as.word = *ARRAY_APPEND(list->words, list->word_count) =
                    alloc_string(value.as.word);
            *ARRAY_APPEND(list->values, list->count) = value;
        }
    }
    for (size_t i = 0; i < first->count; i++)
        qsort(measured->values[i].values, measured->values[i].count,
              sizeof *measured->values[i].values, compare_values);
    return 0;
}

static void take_points(const struct t4_file *file, struct measured_space *measured)
{
    size_t dimensions = measured->points.dimensions;
    uint32_t *point = alloc_zeroed(dimensions, sizeof *point);
    struct search_space *space = search_space_of_points(
        dimensions, (const char *const *)measured->names, measured->values, NULL, 0);
    for (size_t i = 0; i < file->count; i++) {
        (void)search_space_point(space, &file->results[i].parameters, point); /* it has them all */
        if (point_table_find(&measured->points, point) != POINT_NONE)
            continue;
        size_t count = point_table_add(&measured->points, point);
        *ARRAY_APPEND(measured->times_ns, count) = file->results[i].time_ns;
    }
    search_space_free(space);
    free(point);
    measured->space =
        search_space_of_points(dimensions, (const char *const *)measured->names, measured->values,
                               measured->points.points, measured->points.count);
}

/* False if every point failed. */
static bool summarise_space(struct measured_space *measured)
{
    size_t count = 0;
    double *times = alloc_zeroed(measured->points.count, sizeof *times);
    for (size_t i = 0; i < measured->points.count; i++)
        if (isfinite(measured->times_ns[i]))
            times[count++] = measured->times_ns[i];
    statistics_sort(times, count);
    if (count > 0) {
        measured->optimum_ns = times[0];
        measured->median_ns = statistics_quantile(times, count, 0.5);
    }
    free(times);
    return count > 0;
}

int measured_space_read(const char *path, struct measured_space *measured, struct error *error)
{
    struct t4_file file;
    *measured = (struct measured_space){0};
    int status = t4_file_read(path, &file, error);
    if (status != 0)
        return status;
    if (file.count > 0)
        status = take_parameters(path, &file, measured, error);
    if (file.count > 0 && status == 0)
        take_points(&file, measured);
    if (status == 0 && (file.count == 0 || !summarise_space(measured)))
        status =
            error_set_at(error, ERROR_CONFIG, path, 0, "no result is correct; leave out this file");
    t4_file_release(&file);
    if (status != 0)
        measured_space_release(measured);
    return status;
}

void measured_space_release(struct measured_space *measured)
{
    for (size_t i = 0; i < measured->points.dimensions; i++) {
        free(measured->names[i]);
        value_list_release(&measured->values[i]);
    }
    free(measured->names);
    free(measured->values);
    free(measured->times_ns);
    point_table_release(&measured->points);
    search_space_free(measured->space);
    *measured = (struct measured_space){0};
}

double measured_space_time(const struct measured_space *measured, const uint32_t *point)
{
    return measured->times_ns[point_table_find(&measured->points, point)];
}

/* --- simulation --- */

/* One search while it is replayed. */
struct replay {
    struct search *search;
    uint32_t *points; /* of a batch */
    size_t evaluations;
    double best_ns;
    double cpu_s;
};

static double cpu_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* Linux has this clock */
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Proposes and tells one batch of at most `most`. Returns how many were proposed, or an error. */
static int replay_batch(const struct measured_space *measured, struct replay *replay, size_t most,
                        struct error *error)
{
    double start_s = cpu_seconds();
    int proposed = search_propose(replay->search, most, replay->points, error);
    for (int i = 0; i < proposed; i++) {
        const uint32_t *point = replay->points + (size_t)i * measured->points.dimensions;
        double time_ns = measured_space_time(measured, point);
        search_tell(replay->search, point, time_ns);
        replay->best_ns = fmin(replay->best_ns, time_ns);
        replay->evaluations++;
    }
    replay->cpu_s += cpu_seconds() - start_s;
    return proposed;
}

/* One search; its figures are added to `results`, and its shares are put at `shares`, `repeats`
 * apart. */
static int replay_search(const struct measured_space *measured,
                         const struct simulation_options *options, struct replay *replay,
                         struct simulation_result *results, double *shares, struct error *error)
{
    int status = 1;
    for (size_t i = 0; i < options->budget_count; i++) {
        while (replay->evaluations < options->budgets[i] && status > 0) {
            size_t left = options->budgets[i] - replay->evaluations;
            status = replay_batch(measured, replay, left < options->batch ? left : options->batch,
                                  error);
        }
        if (status < 0)
            return status;
        shares[i * options->repeats] =
            measured->optimum_ns / replay->best_ns; /* 0 if nothing was found: INFINITY */
        double all_ns = measured->median_ns - measured->optimum_ns;
        double closed_ns = measured->median_ns - replay->best_ns;
        if (replay->best_ns <= measured->optimum_ns)
            results[i].gap_mean += 1;
        else if (closed_ns > 0 && all_ns > 0)
            results[i].gap_mean += closed_ns / all_ns;
        results[i].cpu_us +=
            replay->evaluations > 0 ? replay->cpu_s * 1e6 / (double)replay->evaluations : 0;
    }
    return 0;
}

/* Tells a search of `measured` the results of those of its points that `known` has, as results from elsewhere. */
static void know(struct search *search, const struct measured_space *measured,
                 const struct measured_space *known)
{
    uint32_t *points =
        alloc_zeroed(known->points.count * measured->points.dimensions, sizeof *points);
    double *times_ns = alloc_zeroed(known->points.count, sizeof *times_ns);
    struct bindings parameters = {0};
    size_t count = 0;
    for (size_t i = 0; i < known->points.count; i++) {
        search_space_bindings(known->space, point_table_at(&known->points, i), &parameters);
        if (search_space_point(measured->space, &parameters,
                               points + count * measured->points.dimensions))
            times_ns[count++] = known->times_ns[i];
    }
    search_know(search, points, times_ns, count);
    bindings_release(&parameters);
    free(points);
    free(times_ns);
}

static int repeat(const struct measured_space *measured, const struct simulation_options *options,
                  struct simulation_result *results, double *shares, struct error *error)
{
    int status = 0;
    struct replay replay = {.points = alloc_zeroed(options->batch * measured->points.dimensions,
                                                   sizeof *replay.points)};
    for (size_t i = 0; i < options->repeats && status == 0; i++) {
        const struct search_options search = {
            .strategy = options->strategy,
            .seed = (uint64_t)options->seed << 32 | (uint64_t)i,
            .evaluations = options->budgets[options->budget_count - 1],
        };
        replay.search = search_new(measured->space, &search);
        if (options->known != NULL)
            know(replay.search, measured, options->known);
        replay.evaluations = 0;
        replay.best_ns = INFINITY;
        replay.cpu_s = 0;
        status = replay_search(measured, options, &replay, results, shares + i, error);
        search_free(replay.search);
    }
    free(replay.points);
    return status;
}

int simulation_run(const struct measured_space *measured, const struct simulation_options *options,
                   struct simulation_result *results, struct error *error)
{
    double *shares = alloc_zeroed(options->budget_count * options->repeats, sizeof *shares);
    for (size_t i = 0; i < options->budget_count; i++)
        results[i] = (struct simulation_result){0};
    int status = repeat(measured, options, results, shares, error);
    for (size_t i = 0; i < options->budget_count && status == 0; i++) {
        double *own = shares + i * options->repeats;
        double sum = 0;
        statistics_sort(own, options->repeats);
        for (size_t j = 0; j < options->repeats; j++)
            sum += own[j];
        results[i].share_mean = sum / (double)options->repeats;
        results[i].share_min = own[0];
        results[i].share_p5 = statistics_quantile(own, options->repeats, 0.05);
        results[i].gap_mean /= (double)options->repeats;
        results[i].cpu_us /= (double)options->repeats;
    }
    free(shares);
    return status;
}
