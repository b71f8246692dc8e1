#include "report/report_formats.h"

#include "base/csv.h"
#include "record/occupancy.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

/* The names of the parameters, from the first result: all results of a study have the same. */
static const struct bindings *parameters_of(const struct study *study)
{
    static const struct bindings none = {0};
    return study->result_count > 0 ? &study->results[0].parameters : &none;
}

static void print_names(FILE *stream, const struct bindings *bindings)
{
    for (size_t i = 0; i < bindings->count; i++)
        fprintf(stream, "%s,", bindings->items[i].name);
}

static void print_header(FILE *stream, const struct study *study)
{
    fputs("kernel,gpu,", stream);
    print_names(stream, &study->problem);
    print_names(stream, parameters_of(study));
    fputs("outcome,reason,registers,spill_bytes,stack_bytes,static_shared_bytes,"
          "dynamic_shared_bytes,block_threads,grid_blocks,blocks_per_sm,occupancy,limiter,"
          "median_us,low_us,high_us,relative_iqr,samples,runs,gb_per_s,gflop_per_s,"
          "finalist,tied,winner,empty_us,sm_clock_mhz,dropped_samples,throttled_samples,"
          "other_processes,gpu_uuid,tool\n",
          stream);
}

/* The values of `names`, in their order. */
static void print_values(FILE *stream, const struct bindings *names, const struct bindings *values)
{
    for (size_t i = 0; i < names->count; i++) {
        const struct value *value = bindings_find(values, names->items[i].name);
        char buffer[VALUE_TEXT_BYTES];
        if (value != NULL)
            csv_text(stream, value_text(*value, buffer));
        fputc(',', stream);
    }
}

static void print_stats(FILE *stream, const struct kernel_stats *stats)
{
    if (!stats->known) {
        fputs(",,,,,,,,,,", stream);
        return;
    }
    fprintf(stream, "%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%d,", stats->registers,
            stats->spill_bytes, stats->stack_bytes, stats->static_shared_bytes,
            stats->dynamic_shared_bytes, stats->block_threads);
    if (stats->grid_blocks > 0)
        fprintf(stream, "%" PRId64, stats->grid_blocks);
    char limiter[OCCUPANCY_LIMITER_BYTES];
    fprintf(stream, ",%d,%.4f,%s,", stats->blocks_per_sm, stats->occupancy,
            occupancy_limiter_text(stats->limiters, limiter));
}

/* Work per nanosecond: GB/s, GFLOP/s. Empty if the template does not state the work. */
static void print_rate(FILE *stream, double work, double median_ns)
{
    if (work > 0)
        fprintf(stream, "%.2f", work / median_ns);
    fputc(',', stream);
}

static void print_times(FILE *stream, const struct result *result)
{
    const struct summary *time = &result->time;
    if (time->count == 0) {
        fputs(",,,,,,,,", stream);
        return;
    }
    fprintf(stream, "%.4f,", time->median_ns / 1000);
    if (time->count > 1)
        fprintf(stream, "%.4f,%.4f,%.4f,", time->low_ns / 1000, time->high_ns / 1000,
                time->relative_iqr);
    else /* one sample has no interval */
        fputs(",,,", stream);
    fprintf(stream, "%zu,%d,", time->count, result->runs);
    print_rate(stream, result->bytes, time->median_ns);
    print_rate(stream, result->operations, time->median_ns);
}

/* The time of an empty kernel, measured like the result, and the conditions of the study. */
static void print_circumstances(FILE *stream, const struct study *study,
                                const struct result *result)
{
    const struct gpu_conditions *conditions = &study->conditions;
    if (result->time.count > 0 && study->environment.tool[0] == '\0')
        fprintf(stream, "%.4f", study_empty_ns(study, result) / 1000);
    if (conditions->known)
        fprintf(stream, ",%.0f,%" PRIu64 ",%" PRIu64 ",%d", conditions->sm_clock_mhz,
                conditions->dropped_samples, conditions->throttled_samples,
                conditions->other_processes);
    else
        fputs(",,,,", stream);
    fputc(',', stream);
    csv_text(stream, result->gpu);
    fputc(',', stream);
    csv_text(stream, study->environment.tool);
}

static void print_result(FILE *stream, const struct study *study, size_t index)
{
    const struct result *result = &study->results[index];
    csv_text(stream, study->kernel);
    fputc(',', stream);
    csv_text(stream, study->environment.gpu.name);
    fputc(',', stream);
    print_values(stream, &study->problem, &study->problem);
    print_values(stream, parameters_of(study), &result->parameters);
    fprintf(stream, "%s,", outcome_name(result->outcome));
    csv_text(stream, result->reason);
    fputc(',', stream);
    print_stats(stream, &result->stats);
    print_times(stream, result);
    fprintf(stream, "%d,%d,%d,", result->finalist, result->tied,
            study->has_winner && study->winner == index);
    print_circumstances(stream, study, result);
    fputc('\n', stream);
}

static bool same_names(const struct bindings *a, const struct bindings *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i].name, b->items[i].name) != 0)
            return false;
    return true;
}

static bool same_columns(const struct study *a, const struct study *b)
{
    return same_names(&a->problem, &b->problem) && same_names(parameters_of(a), parameters_of(b));
}

void report_csv(FILE *stream, const struct study *studies, size_t count)
{
    bool uniform = true;
    for (size_t i = 1; i < count; i++)
        uniform = uniform && same_columns(&studies[0], &studies[i]);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || !uniform)
            print_header(stream, &studies[i]);
        for (size_t j = 0; j < studies[i].result_count; j++)
            print_result(stream, &studies[i], j);
    }
}
