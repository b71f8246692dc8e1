#include "base/alloc.h"
#include "report/analysis.h"
#include "report/columns.h"
#include "report/report_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const double FULL = 1 - 1e-9; /* occupancies are rounded quotients */

#define TABLE_BODY "</tr></thead><tbody>\n"
#define TABLE_END "</tbody></table></div>\n"

/* Cells and rows have no end tags, which HTML allows: pages have thousands of them. */
static void text_table_begin(FILE *stream, const char *heading, const char *explanation)
{
    fprintf(stream, "<h3>%s</h3>\n", heading);
    if (explanation[0] != '\0')
        fprintf(stream, "<p class=\"muted\">%s</p>\n", explanation);
    fputs("<div class=\"scroll\" tabindex=\"0\"><table class=\"sortable\"><thead><tr>", stream);
}

static void head(FILE *stream, const char *text, bool left)
{
    fprintf(stream, "<th%s>%s</th>", left ? " class=\"l\"" : "", text);
}

/* Aligned as its heading is. */
static void cell(FILE *stream, const char *text)
{
    html_print(stream, "<td>%s", text);
}

static void column_heads(FILE *stream, const struct study *study, const enum column *columns,
                         size_t count)
{
    for (size_t i = 0; i < count; i++)
        head(stream, column_heading(columns[i], study, true), column_is_text(columns[i], study));
}

static void column_cells(FILE *stream, const struct study *study, const enum column *columns,
                         size_t count, const struct result *result)
{
    for (size_t i = 0; i < count; i++) {
        char low[COLUMN_TEXT_BYTES];
        char high[COLUMN_TEXT_BYTES];
        const char *text = column_text(columns[i], study, result, low);
        fputs(columns[i] == COLUMN_reason ? "<td class=wrap>" : "<td>", stream);
        if (columns[i] == COLUMN_interval && text != NULL) /* may be broken into two lines */
            fprintf(stream, "%s – %s", column_text(COLUMN_low, study, result, low),
                    column_text(COLUMN_high, study, result, high));
        else
            html_text(stream, text);
    }
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
        html_print(stream, "%s:&nbsp;%s", value_text(level->value, value), number);
        fputs(i == best ? "</b>" : "", stream);
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
    fputs(TABLE_BODY, stream);
    for (size_t i = 0; i < importance->count; i++) {
        fputs("<tr>", stream);
        cell(stream, importance->items[i].name);
        cell_share(stream, importance->items[i].alone);
        cell_share(stream, importance->items[i].total);
        cell_share(stream, importance->items[i].near);
        cell_levels(stream, study, importance, &importance->items[i]);
        fputc('\n', stream);
    }
    fputs(TABLE_END, stream);
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

/* Variants below full occupancy, those with the same resources together. */
void html_headroom(FILE *stream, const struct study *study)
{
    size_t *order = alloc_zeroed(study->result_count, sizeof *order);
    size_t count = 0;
    size_t full = 0;
    char explanation[256];
    for (size_t i = 0; i < study->result_count; i++) {
        if (study->results[i].stats.known && study->results[i].stats.occupancy < FULL)
            order[count++] = i;
        else
            full += study->results[i].stats.known;
    }
    if (count > 1)
        qsort_r(order, count, sizeof *order, compare_resources, (void *)(uintptr_t)study);
    (void)snprintf(explanation, sizeof explanation,
                   "%zu variant%s full occupancy. The others are grouped by the resources they "
                   "use, with the change to one resource that would raise their occupancy.",
                   full, full == 1 ? " has" : "s have");
    if (count > 0) {
        text_table_begin(stream, "Occupancy and its limits", explanation);
        head(stream, "variants", false);
        column_heads(stream, study, headroom_columns, HEADROOM_COLUMNS);
        head(stream, "more occupancy with", true);
        fputs(TABLE_BODY, stream);
    }
    for (size_t begin = 0, end; begin < count; begin = end) {
        const struct result *result = &study->results[order[begin]];
        for (end = begin + 1; end < count && compare_resources(&order[begin], &order[end],
                                                               (void *)(uintptr_t)study) == 0;
             end++)
            ;
        char *steps = headroom_text(&study->environment.gpu, &result->stats);
        fprintf(stream, "<tr><td>%zu", end - begin);
        column_cells(stream, study, headroom_columns, HEADROOM_COLUMNS, result);
        html_print(stream, "<td>%s\n", steps);
        free(steps);
    }
    fputs(count > 0 ? TABLE_END : "", stream);
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
    fputs(TABLE_BODY, stream);
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        size_t count = 0;
        if (i == OUTCOME_MEASURED || i == OUTCOME_COMPILED)
            continue;
        struct reason *reasons = report_reasons(study, (enum outcome)i, &count);
        for (size_t j = 0; j < count; j++) {
            fprintf(stream, "<tr><td>%zu<td title=\"%s\">%s", reasons[j].count,
                    outcome_meaning((enum outcome)i), outcome_name((enum outcome)i));
            html_print(stream, "<td class=wrap>%s\n", reasons[j].text);
        }
        report_reasons_free(reasons, count);
    }
    fputs(TABLE_END, stream);
}

/* --- all variants --- */

void html_variants(FILE *stream, const struct study *study)
{
    static const enum column columns[] = {
        COLUMN_mark,      COLUMN_median,      COLUMN_interval,         COLUMN_noise,
        COLUMN_gb_per_s,  COLUMN_gflop_per_s, COLUMN_ns_per_operation, COLUMN_PARAMETERS,
        COLUMN_registers, COLUMN_spill_bytes, COLUMN_shared_bytes,     COLUMN_blocks_per_sm,
        COLUMN_occupancy, COLUMN_limiter,     COLUMN_other_launches,   COLUMN_outcome,
        COLUMN_reason,
    };
    size_t count;
    if (study->result_count == 0)
        return;
    bool *varying = report_varying(study);
    size_t *ranking = alloc_zeroed(study->result_count, sizeof *ranking);
    study_rank(study, ranking);
    enum column *chosen = columns_choose(study, varying, ranking, study->result_count, columns,
                                         sizeof columns / sizeof *columns, &count);
    text_table_begin(stream, "All variants", "");
    column_heads(stream, study, chosen, count);
    fputs(TABLE_BODY, stream);
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[ranking[i]];
        bool winner = study->has_winner && study->winner == ranking[i];
        fprintf(stream, "<tr%s>",
                winner         ? " class=\"winner-row\""
                : result->tied ? " class=\"tie-row\""
                               : "");
        column_cells(stream, study, chosen, count, result);
        fputc('\n', stream);
    }
    fputs(TABLE_END, stream);
    free(chosen);
    free(ranking);
    free(varying);
}
