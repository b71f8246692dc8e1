#include "report/html_parts.h"

#include "base/alloc.h"
#include "record/occupancy.h"
#include "report/html_text.h"
#include "report/report_headroom.h"
#include "report/report_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const double FULL = 1 - 1e-9; /* occupancies are rounded quotients */

/* Cells and rows have no end tags, which HTML allows: pages have thousands of them. */
static void text_table_begin(FILE *stream, const char *heading, const char *explanation)
{
    fprintf(stream, "<h3>%s</h3>\n", heading);
    if (explanation[0] != '\0')
        fprintf(stream, "<p class=\"muted\">%s</p>\n", explanation);
    fputs("<div class=\"scroll\" tabindex=\"0\"><table class=\"sortable\"><thead><tr>", stream);
}

static void text_table_body(FILE *stream)
{
    fputs("</tr></thead><tbody>\n", stream);
}

static void text_table_end(FILE *stream)
{
    fputs("</tbody></table></div>\n", stream);
}

static void head(FILE *stream, const char *text, bool left)
{
    fprintf(stream, "<th%s>%s</th>", left ? " class=\"l\"" : "", text);
}

/* Aligned as its heading is. */
static void cell(FILE *stream, const char *text)
{
    fputs("<td>", stream);
    html_text(stream, text);
}

static void cell_integer(FILE *stream, int64_t integer)
{
    fprintf(stream, "<td>%" PRId64, integer);
}

/* --- importance --- */

static void cell_share(FILE *stream, double share)
{
    char number[REPORT_NUMBER_BYTES];
    (void)report_fixed(100 * share, 1, number);
    fprintf(stream, "<td>%s&nbsp;%%<i class=\"share\" style=\"--share:%s%%\"></i>", number, number);
}

static void cell_levels(FILE *stream, const struct study *study,
                        const struct importance *importance,
                        const struct parameter_importance *parameter)
{
    size_t best = parameter_best_level(importance, parameter, study);
    fputs("<td class=wrap>", stream);
    for (size_t i = 0; i < parameter->level_count; i++) {
        const struct parameter_level *level = &parameter->levels[i];
        char value[VALUE_TEXT_BYTES];
        char number[REPORT_NUMBER_BYTES] = "no result";
        if (level->usable > 0 && importance->of_time)
            (void)report_time(study->results[level->best].time.median_ns, number);
        else if (level->usable > 0)
            (void)snprintf(number, sizeof number, "%.0f %%",
                           100 * study->results[level->best].stats.occupancy);
        fprintf(stream, "%s%s", i > 0 ? ", " : "", i == best ? "<b>" : "");
        html_text(stream, value_text(level->value, value));
        fprintf(stream, ":&nbsp;%s%s", number, i == best ? "</b>" : "");
    }
}

void html_importance(FILE *stream, const struct study *study, const struct importance *importance)
{
    if (importance->count == 0 || !importance->varies)
        return;
    text_table_begin(stream, "What each parameter does",
                     "The share of the variance that a parameter explains: <em>alone</em>, on its "
                     "own; <em>total</em>, with its interactions; <em>near</em>, with its "
                     "interactions among the variants within a factor of two of the best.");
    head(stream, "parameter", true);
    head(stream, "alone", false);
    head(stream, "total", false);
    head(stream, "near", false);
    head(stream,
         importance->of_time ? "best time at each value, µs" : "best occupancy at each value",
         true);
    text_table_body(stream);
    for (size_t i = 0; i < importance->count; i++) {
        fputs("<tr>", stream);
        cell(stream, importance->items[i].name);
        cell_share(stream, importance->items[i].alone);
        cell_share(stream, importance->items[i].total);
        cell_share(stream, importance->items[i].near);
        cell_levels(stream, study, importance, &importance->items[i]);
        fputc('\n', stream);
    }
    text_table_end(stream);
}

/* --- occupancy --- */

static int64_t shared_bytes(const struct kernel_stats *stats)
{
    return stats->static_shared_bytes + stats->dynamic_shared_bytes;
}

static int compare_resources(const void *left, const void *right, void *context)
{
    const struct study *study = context;
    const struct kernel_stats *a = &study->results[*(const size_t *)left].stats;
    const struct kernel_stats *b = &study->results[*(const size_t *)right].stats;
    const int64_t differences[] = {
        (b->occupancy > a->occupancy) - (b->occupancy < a->occupancy),
        a->block_threads - b->block_threads,
        a->registers - b->registers,
        shared_bytes(a) - shared_bytes(b),
        a->blocks_per_sm - b->blocks_per_sm,
    };
    for (size_t i = 0; i < sizeof differences / sizeof *differences; i++)
        if (differences[i] != 0)
            return differences[i] < 0 ? -1 : 1;
    return 0;
}

static void headroom_row(FILE *stream, const struct study *study, size_t index, size_t variants)
{
    const struct kernel_stats *stats = &study->results[index].stats;
    struct headroom headroom;
    char limiters[OCCUPANCY_LIMITER_BYTES];
    char steps[HEADROOM_TEXT_BYTES];
    headroom_find(&study->environment.gpu, stats, &headroom);
    (void)headroom_text(&headroom, steps);
    fprintf(stream, "<tr><td>%zu", variants);
    cell_integer(stream, stats->block_threads);
    cell_integer(stream, stats->registers);
    cell_integer(stream, shared_bytes(stats));
    cell_integer(stream, stats->blocks_per_sm);
    fprintf(stream, "<td>%.0f", 100 * stats->occupancy);
    cell(stream, occupancy_limiter_text(stats->limiters, limiters));
    cell(stream, steps[0] != '\0' ? steps : "no single change");
    fputc('\n', stream);
}

/* The indices of variants below full occupancy, those with the same resources together; a new
 * array. `*full` counts the others. */
static size_t *collect_partial(const struct study *study, size_t *count, size_t *full)
{
    size_t *order = alloc_zeroed(study->result_count, sizeof *order);
    *count = *full = 0;
    for (size_t i = 0; i < study->result_count; i++) {
        if (study->results[i].stats.known && study->results[i].stats.occupancy < FULL)
            order[(*count)++] = i;
        else
            *full += study->results[i].stats.known;
    }
    if (*count > 1)
        qsort_r(order, *count, sizeof *order, compare_resources, (void *)(uintptr_t)study);
    return order;
}

void html_headroom(FILE *stream, const struct study *study)
{
    static const char *const heads[] = {"variants",  "threads per block", "registers",
                                        "shared, B", "blocks/SM",         "occupancy, %"};
    size_t count, full;
    size_t *order = collect_partial(study, &count, &full);
    char explanation[256];
    (void)snprintf(explanation, sizeof explanation,
                   "%zu variant%s full occupancy. The others are grouped by the resources they "
                   "use, with the change to one resource that would raise their occupancy.",
                   full, full == 1 ? " has" : "s have");
    if (count > 0) {
        text_table_begin(stream, "Occupancy and its limits", explanation);
        for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
            head(stream, heads[i], false);
        head(stream, "limited by", true);
        head(stream, "more occupancy with", true);
        text_table_body(stream);
        for (size_t begin = 0, end; begin < count; begin = end) {
            for (end = begin + 1; end < count && compare_resources(&order[begin], &order[end],
                                                                   (void *)(uintptr_t)study) == 0;
                 end++)
                ;
            headroom_row(stream, study, order[begin], end - begin);
        }
        text_table_end(stream);
    }
    free(order);
}

/* --- failures --- */

void html_failures(FILE *stream, const struct study *study)
{
    size_t measured = study_count(study, OUTCOME_MEASURED) + study_count(study, OUTCOME_COMPILED);
    if (measured == study->result_count)
        return;
    text_table_begin(stream, "Other outcomes and their reasons", "");
    head(stream, "variants", false);
    head(stream, "outcome", true);
    head(stream, "reason", true);
    text_table_body(stream);
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        size_t count = 0;
        if (i == OUTCOME_MEASURED || i == OUTCOME_COMPILED)
            continue;
        struct reason *reasons = report_reasons(study, (enum outcome)i, &count);
        for (size_t j = 0; j < count; j++) {
            fprintf(stream, "<tr><td>%zu<td title=\"%s\">%s", reasons[j].count,
                    outcome_meaning((enum outcome)i), outcome_name((enum outcome)i));
            fputs("<td class=wrap>", stream);
            html_text(stream, reasons[j].text);
            fputc('\n', stream);
        }
        report_reasons_free(reasons, count);
    }
    text_table_end(stream);
}

/* --- all variants --- */

/* The columns that a study needs. */
struct columns {
    const bool *varying;
    bool times;
    bool bytes;
    bool operations;
    bool few_operations;
    bool spills;
    bool failures;
};

static struct columns columns_of(const struct study *study, const bool *varying)
{
    struct columns columns = {.varying = varying,
                              .times = !study->environment.static_mode,
                              .few_operations = report_few_operations(study)};
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        columns.bytes = columns.bytes || (columns.times && result->bytes > 0);
        columns.operations = columns.operations || (columns.times && result->operations > 0);
        columns.spills = columns.spills || result->stats.spill_bytes > 0;
        columns.failures = columns.failures || (result->outcome != OUTCOME_MEASURED &&
                                                result->outcome != OUTCOME_COMPILED);
    }
    return columns;
}

static void variant_heads(FILE *stream, const struct study *study, const struct columns *columns)
{
    const struct bindings *parameters = report_parameters(study);
    head(stream, "", true);
    if (columns->times) {
        head(stream, "time, µs", false);
        head(stream, "95 % interval", false);
        head(stream, "noise, %", false);
    }
    if (columns->bytes)
        head(stream, "GB/s", false);
    if (columns->operations)
        head(stream, columns->few_operations ? "ns/operation" : "GFLOP/s", false);
    for (size_t i = 0; i < parameters->count; i++)
        if (columns->varying[i])
            head(stream, parameters->items[i].name, parameters->items[i].value.kind == VALUE_WORD);
    head(stream, "registers", false);
    if (columns->spills)
        head(stream, "spills, B", false);
    head(stream, "shared, B", false);
    head(stream, "blocks/SM", false);
    head(stream, "occupancy, %", false);
    head(stream, "limited by", true);
    if (columns->failures) {
        head(stream, "outcome", true);
        head(stream, "reason", true);
    }
}

static void cell_rate(FILE *stream, double work, const struct summary *time)
{
    char number[REPORT_NUMBER_BYTES];
    bool known = work > 0 && time->median_ns > 0;
    cell(stream, known ? report_number(work / time->median_ns, number) : "");
}

static void cells_times(FILE *stream, const struct columns *columns, const struct result *result)
{
    const struct summary *time = &result->time;
    char text[REPORT_NUMBER_BYTES], low[REPORT_NUMBER_BYTES], high[REPORT_NUMBER_BYTES];
    if (columns->times && time->count == 0) {
        fputs("<td><td><td>", stream);
    } else if (columns->times) {
        cell(stream, report_time(time->median_ns, text));
        if (time->count > 1) {
            fprintf(stream, "<td>%s – %s", report_time(time->low_ns, low),
                    report_time(time->high_ns, high));
            cell(stream, report_fixed(100 * time->relative_iqr, 1, text));
        } else { /* one sample has no interval */
            fputs("<td><td>", stream);
        }
    }
    if (columns->bytes)
        cell_rate(stream, result->bytes, time);
    if (columns->operations && columns->few_operations)
        cell(stream,
             time->count > 0 ? report_number(time->median_ns / result->operations, text) : "");
    else if (columns->operations)
        cell_rate(stream, result->operations, time);
}

static void cells_stats(FILE *stream, const struct columns *columns,
                        const struct kernel_stats *stats)
{
    char limiters[OCCUPANCY_LIMITER_BYTES];
    if (!stats->known) {
        for (int i = 0; i < (columns->spills ? 6 : 5); i++)
            fputs("<td>", stream);
        return;
    }
    cell_integer(stream, stats->registers);
    if (columns->spills)
        cell_integer(stream, stats->spill_bytes);
    cell_integer(stream, shared_bytes(stats));
    cell_integer(stream, stats->blocks_per_sm);
    fprintf(stream, "<td>%.0f", 100 * stats->occupancy);
    cell(stream, occupancy_limiter_text(stats->limiters, limiters));
}

static void variant_row(FILE *stream, const struct study *study, const struct columns *columns,
                        size_t index)
{
    const struct result *result = &study->results[index];
    const struct bindings *names = report_parameters(study);
    bool winner = study->has_winner && study->winner == index;
    fprintf(stream, "<tr%s><td>%s",
            winner         ? " class=\"winner-row\""
            : result->tied ? " class=\"tie-row\""
                           : "",
            winner         ? "winner"
            : result->tied ? "tied"
                           : "");
    cells_times(stream, columns, result);
    for (size_t i = 0; i < names->count; i++) {
        const struct value *value = bindings_find(&result->parameters, names->items[i].name);
        char text[VALUE_TEXT_BYTES] = "";
        if (!columns->varying[i])
            continue;
        if (value != NULL)
            (void)value_text(*value, text);
        cell(stream, text);
    }
    cells_stats(stream, columns, &result->stats);
    if (columns->failures) {
        cell(stream, outcome_name(result->outcome));
        fputs("<td class=wrap>", stream);
        html_text(stream, result->reason);
    }
    fputc('\n', stream);
}

void html_variants(FILE *stream, const struct study *study)
{
    if (study->result_count == 0)
        return;
    bool *varying = report_varying(study);
    struct columns columns = columns_of(study, varying);
    size_t *ranking = alloc_zeroed(study->result_count, sizeof *ranking);
    study_rank(study, ranking);
    text_table_begin(stream, "All variants", "");
    variant_heads(stream, study, &columns);
    text_table_body(stream);
    for (size_t i = 0; i < study->result_count; i++)
        variant_row(stream, study, &columns, ranking[i]);
    text_table_end(stream);
    free(ranking);
    free(varying);
}
