#include "report/columns.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <stdio.h>

const struct column_rule column_rules[COLUMN_COUNT] = {
#define X(column, kind, ...) [COLUMN_##column] = {COLUMN_##kind, __VA_ARGS__},
    COLUMNS(X)
#undef X
};

const enum column headroom_columns[HEADROOM_COLUMNS] = {COLUMN_block_threads, COLUMN_registers,
                                                        COLUMN_shared_bytes,  COLUMN_blocks_per_sm,
                                                        COLUMN_occupancy,     COLUMN_limiter};

static bool integer(struct column_value *value, bool known, int64_t integer)
{
    value->integer = integer;
    return known;
}

static bool real(struct column_value *value, bool known, double real)
{
    value->real = real;
    return known;
}

static bool text(struct column_value *value, const char *text)
{
    value->text = text;
    return text != NULL && *text != '\0';
}

static const char *mark_of(const struct study *study, const struct result *result)
{
    if (study->has_winner && result == &study->results[study->winner])
        return "winner";
    return result->tied ? "tied" : NULL;
}

/* From COLUMN_registers to COLUMN_limiter. */
static bool figure(enum column column, const struct kernel_stats *stats, struct column_value *value)
{
    switch (column) {
    case COLUMN_registers:
        return integer(value, true, stats->registers);
    case COLUMN_spill_bytes:
        return integer(value, true, stats->spill_bytes);
    case COLUMN_stack_bytes:
        return integer(value, true, stats->stack_bytes);
    case COLUMN_static_shared_bytes:
        return integer(value, true, stats->static_shared_bytes);
    case COLUMN_dynamic_shared_bytes:
        return integer(value, true, stats->dynamic_shared_bytes);
    case COLUMN_shared_bytes:
        return integer(value, true, stats->static_shared_bytes + stats->dynamic_shared_bytes);
    case COLUMN_block_threads:
        return integer(value, true, stats->block_threads);
    case COLUMN_grid_blocks:
        return integer(value, stats->grid_blocks > 0, stats->grid_blocks);
    case COLUMN_blocks_per_sm:
        return integer(value, true, stats->blocks_per_sm);
    case COLUMN_occupancy:
        return real(value, true, stats->occupancy);
    case COLUMN_limiter:
        return text(value, occupancy_limiter_text(stats->limiters, value->buffer));
    default:
        return false;
    }
}

/* From COLUMN_median to COLUMN_ns_per_operation. */
static bool measurement(enum column column, const struct result *result, struct column_value *value)
{
    const struct summary *time = &result->time;
    const bool timed = time->count > 0;
    const bool several = time->count > 1; /* one sample has no interval */
    const double ns = time->median_ns;
    switch (column) {
    case COLUMN_median:
        return real(value, timed, ns);
    case COLUMN_low:
        return real(value, several, time->low_ns);
    case COLUMN_high:
        return real(value, several, time->high_ns);
    case COLUMN_minimum:
        return real(value, timed, time->minimum_ns);
    case COLUMN_interval:
        return several;
    case COLUMN_noise:
        return real(value, several, time->relative_iqr);
    case COLUMN_samples:
        return integer(value, timed, (int64_t)time->count);
    case COLUMN_runs:
        return integer(value, timed && result->runs > 0, result->runs);
    case COLUMN_bytes:
        return real(value, true, result->bytes);
    case COLUMN_operations:
        return real(value, true, result->operations);
    case COLUMN_gb_per_s:
        return real(value, result->bytes > 0 && ns > 0, result->bytes / ns);
    case COLUMN_gflop_per_s:
        return real(value, result->operations > 0 && ns > 0, result->operations / ns);
    case COLUMN_ns_per_operation:
        return real(value, result->operations > 0 && ns > 0, ns / result->operations);
    default:
        return false;
    }
}

bool column_value(enum column column, const struct study *study, const struct result *result,
                  struct column_value *value)
{
    const struct gpu_conditions *seen = &study->conditions;
    if (column >= COLUMN_registers && column <= COLUMN_limiter)
        return result->stats.known && figure(column, &result->stats, value);
    if (column >= COLUMN_median && column <= COLUMN_ns_per_operation)
        return measurement(column, result, value);
    switch (column) {
    case COLUMN_mark:
        return text(value, mark_of(study, result));
    case COLUMN_other_launches:
        return text(value, result->other_launches);
    case COLUMN_outcome:
        return text(value, outcome_name(result->outcome));
    case COLUMN_reason:
        return text(value, result->reason);
    case COLUMN_finalist:
        return integer(value, true, result->finalist);
    case COLUMN_tied:
        return integer(value, true, result->tied);
    case COLUMN_winner:
        return integer(value, true, study->has_winner && result == &study->results[study->winner]);
    case COLUMN_empty:
        return real(value, result->time.count > 0 && study->environment.tool[0] == '\0',
                    study_empty_ns(study, result));
    case COLUMN_sm_clock:
        return real(value, seen->known, seen->sm_clock_mhz);
    case COLUMN_dropped_samples:
        return integer(value, seen->known, (int64_t)seen->dropped_samples);
    case COLUMN_throttled_samples:
        return integer(value, seen->known, (int64_t)seen->throttled_samples);
    case COLUMN_other_processes:
        return integer(value, seen->known, seen->other_processes);
    case COLUMN_gpu:
        return text(value, result->gpu);
    case COLUMN_tool:
        return text(value, study->environment.tool);
    case COLUMN_seen:
        return real(value, result->seen_s > 0, result->seen_s);
    default:
        return false;
    }
}

/* A parameter of the first result, which has the names of all. */
static const struct binding *parameter_of(enum column column, const struct study *study)
{
    return &report_parameters(study)->items[column - COLUMN_PARAMETERS];
}

const char *column_heading(enum column column, const struct study *study, bool page)
{
    if (column >= COLUMN_PARAMETERS)
        return parameter_of(column, study)->name;
    return page ? column_rules[column].page : column_rules[column].table;
}

bool column_is_text(enum column column, const struct study *study)
{
    return column >= COLUMN_PARAMETERS ? parameter_of(column, study)->value.kind == VALUE_WORD
                                       : column_rules[column].kind == COLUMN_TEXT;
}

const char *column_text(enum column column, const struct study *study, const struct result *result,
                        char buffer[COLUMN_TEXT_BYTES])
{
    struct column_value value = {0};
    char low[REPORT_NUMBER_BYTES];
    char high[REPORT_NUMBER_BYTES];
    if (column >= COLUMN_PARAMETERS) {
        const struct value *parameter =
            bindings_find(&result->parameters, parameter_of(column, study)->name);
        return parameter != NULL ? value_text(*parameter, buffer) : NULL;
    }
    if (!column_value(column, study, result, &value))
        return NULL;
    switch (column_rules[column].kind) {
    case COLUMN_INTEGER:
    case COLUMN_FLAG:
        (void)snprintf(buffer, COLUMN_TEXT_BYTES, "%" PRId64, value.integer);
        return buffer;
    case COLUMN_TIME:
        return report_time(value.real, buffer);
    case COLUMN_INTERVAL:
        (void)snprintf(buffer, COLUMN_TEXT_BYTES, "%s-%s", report_time(result->time.low_ns, low),
                       report_time(result->time.high_ns, high));
        return buffer;
    case COLUMN_SHARE:
        return report_fixed(100 * value.real, column == COLUMN_occupancy ? 0 : 1, buffer);
    case COLUMN_REAL:
    case COLUMN_RATE:
        return report_number(value.real, buffer);
    case COLUMN_TEXT:
        break;
    }
    if (value.text != value.buffer)
        return value.text;
    (void)snprintf(buffer, COLUMN_TEXT_BYTES, "%s", value.text);
    return buffer;
}

/* Whether a result gives the column something to say. */
static bool is_worth(enum column column, const struct result *result)
{
    switch (column) {
    case COLUMN_gb_per_s:
        return result->bytes > 0;
    case COLUMN_gflop_per_s:
    case COLUMN_ns_per_operation:
        return result->operations > 0;
    case COLUMN_spill_bytes:
        return result->stats.spill_bytes > 0;
    case COLUMN_outcome:
    case COLUMN_reason:
        return result->outcome != OUTCOME_MEASURED && result->outcome != OUTCOME_COMPILED;
    default:
        return true;
    }
}

static bool is_needed(enum column column, const struct study *study, const size_t *indices,
                      size_t count)
{
    static const bool of_times[COLUMN_COUNT] = {
        [COLUMN_mark] = true,
        [COLUMN_median] = true,
        [COLUMN_interval] = true,
        [COLUMN_noise] = true,
        [COLUMN_gb_per_s] = true,
        [COLUMN_gflop_per_s] = true,
        [COLUMN_ns_per_operation] = true,
    };
    if ((of_times[column] && study->environment.static_mode) ||
        (column == COLUMN_gflop_per_s && report_few_operations(study)) ||
        (column == COLUMN_ns_per_operation && !report_few_operations(study)))
        return false;
    for (size_t i = 0; i < count; i++)
        if (is_worth(column, &study->results[indices[i]]))
            return true;
    return false;
}

enum column *columns_choose(const struct study *study, const bool *varying, const size_t *indices,
                            size_t result_count, const enum column *columns, size_t count,
                            size_t *chosen_count)
{
    enum column *chosen = NULL;
    *chosen_count = 0;
    for (size_t i = 0; i < count; i++) {
        size_t parameters = columns[i] == COLUMN_PARAMETERS ? report_parameters(study)->count : 0;
        if (columns[i] != COLUMN_PARAMETERS && is_needed(columns[i], study, indices, result_count))
            *ARRAY_APPEND(chosen, *chosen_count) = columns[i];
        for (size_t j = 0; j < parameters; j++)
            if (varying[j])
                *ARRAY_APPEND(chosen, *chosen_count) = (enum column)(COLUMN_PARAMETERS + j);
    }
    return chosen;
}
