#include "report/report_formats.h"

#include "base/alloc.h"
#include "base/text_table.h"
#include "record/occupancy.h"
#include "report/improvements.h"
#include "report/report_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_ROWS = 10,
    SHOWN_REASONS = 5, /* of each outcome */
    SHOWN_IMPROVEMENTS = 5,
};

/* What to show in the table of one study. */
struct view {
    const struct study *study;
    size_t *ranking; /* indices of results, best first */
    size_t ranked;   /* those that can have a row: measured, or in static mode all of them */
    size_t rows;
    bool *varies; /* by parameter: whether it has a column */
    bool times;
    bool bytes;
    bool operations;
    bool few_operations; /* show the time per operation rather than the rate */
    bool noise;
    bool spills;
    bool no_spills; /* in any variant, shown or not */
    bool outcomes;  /* show a column of outcomes, since they differ */
};

static struct view view_of(const struct study *study, size_t top)
{
    struct view view = {
        .study = study, .times = !study->environment.static_mode, .no_spills = true};
    view.noise = view.times;
    view.few_operations = report_few_operations(study);
    view.ranking = alloc_zeroed(study->result_count, sizeof *view.ranking);
    study_rank(study, view.ranking);
    view.ranked = view.times ? study_count(study, OUTCOME_MEASURED) : study->result_count;
    size_t wanted = top > 0 ? top : DEFAULT_ROWS;
    view.rows = wanted < view.ranked ? wanted : view.ranked;
    view.varies = report_varying(study);
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        view.bytes = view.bytes || (view.times && result->bytes > 0);
        view.operations = view.operations || (view.times && result->operations > 0);
        view.no_spills = view.no_spills && result->stats.spill_bytes == 0;
    }
    for (size_t i = 0; i < view.rows; i++)
        view.spills = view.spills || study->results[view.ranking[i]].stats.spill_bytes > 0;
    for (size_t i = 0; i < view.rows; i++)
        view.outcomes = view.outcomes || study->results[view.ranking[i]].outcome !=
                                             study->results[view.ranking[0]].outcome;
    return view;
}

static void view_release(struct view *view)
{
    free(view->ranking);
    free(view->varies);
}

#define CELL_BYTES REPORT_NUMBER_BYTES

static void cell_integer(struct text_table *table, int64_t integer)
{
    char buffer[CELL_BYTES];
    (void)snprintf(buffer, sizeof buffer, "%" PRId64, integer);
    text_table_cell(table, buffer);
}

/* GB/s and GFLOP/s are work per nanosecond. */
static void cell_rate(struct text_table *table, double work, const struct summary *time)
{
    char buffer[CELL_BYTES] = "-";
    if (work > 0 && time->median_ns > 0)
        (void)report_number(work / time->median_ns, buffer);
    text_table_cell(table, buffer);
}

static void cell_latency(struct text_table *table, double operations, const struct summary *time)
{
    char buffer[CELL_BYTES] = "-";
    if (operations > 0)
        (void)report_number(time->median_ns / operations, buffer);
    text_table_cell(table, buffer);
}

static void cell_interval(struct text_table *table, const struct summary *time)
{
    char low[CELL_BYTES];
    char high[CELL_BYTES];
    char buffer[2 * CELL_BYTES] = "-"; /* one sample has no interval */
    if (time->count > 1)
        (void)snprintf(buffer, sizeof buffer, "%s-%s", report_time(time->low_ns, low),
                       report_time(time->high_ns, high));
    text_table_cell(table, buffer);
}

static void cell_percent(struct text_table *table, double fraction, int decimals)
{
    char buffer[CELL_BYTES];
    (void)snprintf(buffer, sizeof buffer, "%.*f", decimals, 100 * fraction);
    text_table_cell(table, buffer);
}

static void add_columns(struct text_table *table, const struct view *view)
{
    if (view->times) {
        text_table_column(table, "", TABLE_LEFT); /* the winner's and the ties' marks */
        text_table_column(table, "time us", TABLE_RIGHT);
        text_table_column(table, "95 % interval", TABLE_RIGHT);
    }
    if (view->noise)
        text_table_column(table, "noise %", TABLE_RIGHT);
    if (view->bytes)
        text_table_column(table, "GB/s", TABLE_RIGHT);
    if (view->operations)
        text_table_column(table, view->few_operations ? "ns /op" : "GFLOP/s", TABLE_RIGHT);
    text_table_column(table, "regs", TABLE_RIGHT);
    if (view->spills)
        text_table_column(table, "spill B", TABLE_RIGHT);
    text_table_column(table, "shared B", TABLE_RIGHT);
    text_table_column(table, "blocks /SM", TABLE_RIGHT);
    text_table_column(table, "occ. %", TABLE_RIGHT);
    text_table_column(table, "limited by", TABLE_LEFT);
    const struct bindings *parameters = report_parameters(view->study);
    for (size_t i = 0; i < parameters->count; i++) {
        bool word = parameters->items[i].value.kind == VALUE_WORD;
        if (view->varies[i])
            text_table_column(table, parameters->items[i].name, word ? TABLE_LEFT : TABLE_RIGHT);
    }
    if (view->outcomes)
        text_table_column(table, "outcome", TABLE_LEFT);
}

static void add_times(struct text_table *table, const struct view *view, size_t index)
{
    const struct result *result = &view->study->results[index];
    char buffer[CELL_BYTES];
    bool winner = view->study->has_winner && view->study->winner == index;
    text_table_cell(table, winner ? "*" : result->tied ? "=" : "");
    text_table_cell(table, report_time(result->time.median_ns, buffer));
    cell_interval(table, &result->time);
    if (view->noise)
        cell_percent(table, result->time.relative_iqr, 1);
}

static void add_stats(struct text_table *table, const struct view *view,
                      const struct kernel_stats *stats)
{
    if (!stats->known) {
        for (int i = 0; i < (view->spills ? 6 : 5); i++)
            text_table_cell(table, "-");
        return;
    }
    char limiter[OCCUPANCY_LIMITER_BYTES];
    cell_integer(table, stats->registers);
    if (view->spills)
        cell_integer(table, stats->spill_bytes);
    cell_integer(table, stats->static_shared_bytes + stats->dynamic_shared_bytes);
    cell_integer(table, stats->blocks_per_sm);
    cell_percent(table, stats->occupancy, 0);
    text_table_cell(table, occupancy_limiter_text(stats->limiters, limiter));
}

static void add_row(struct text_table *table, const struct view *view, size_t index)
{
    const struct result *result = &view->study->results[index];
    if (view->times)
        add_times(table, view, index);
    if (view->bytes)
        cell_rate(table, result->bytes, &result->time);
    if (view->operations && view->few_operations)
        cell_latency(table, result->operations, &result->time);
    else if (view->operations)
        cell_rate(table, result->operations, &result->time);
    add_stats(table, view, &result->stats);
    const struct bindings *names = report_parameters(view->study);
    for (size_t i = 0; i < names->count; i++) {
        const struct value *value = bindings_find(&result->parameters, names->items[i].name);
        char buffer[VALUE_TEXT_BYTES];
        if (view->varies[i])
            text_table_cell(table, value != NULL ? value_text(*value, buffer) : "-");
    }
    if (view->outcomes)
        text_table_cell(table, outcome_name(result->outcome));
}

static struct text_table *build_table(const struct view *view)
{
    struct text_table *table = text_table_new();
    add_columns(table, view);
    for (size_t i = 0; i < view->rows; i++)
        add_row(table, view, view->ranking[i]);
    return table;
}

/* If the table is too wide for the terminal, drops redundant columns: GFLOP/s if there is GB/s, then
 * the noise, which the interval also shows. */
static void print_rows(FILE *stream, const struct view *view)
{
    struct view narrow = *view;
    if (view->rows == 0)
        return;
    struct text_table *table = build_table(&narrow);
    while (text_table_width(table) > REPORT_TERMINAL_WIDTH && (narrow.noise || narrow.operations)) {
        if (narrow.operations && narrow.bytes)
            narrow.operations = false;
        else if (narrow.noise)
            narrow.noise = false;
        else
            break;
        text_table_free(table);
        table = build_table(&narrow);
    }
    fputc('\n', stream);
    text_table_print(table, REPORT_TERMINAL_WIDTH, stream);
    text_table_free(table);
    if (view->rows < view->ranked)
        fprintf(stream, "%zu of %zu %s; --top %zu shows all\n", view->rows, view->ranked,
                view->times ? "measured variants, fastest first"
                            : "variants, highest occupancy first",
                view->ranked);
}

/* The values that all variants share, which have no column. */
static void print_constants(FILE *stream, const struct view *view)
{
    if (view->study->result_count == 0)
        return;
    const struct bindings *parameters = report_parameters(view->study);
    const char *separator = "all variants: ";
    for (size_t i = 0; i < parameters->count; i++) {
        char buffer[VALUE_TEXT_BYTES];
        if (view->varies[i])
            continue;
        fprintf(stream, "%s%s=%s", separator, parameters->items[i].name,
                value_text(parameters->items[i].value, buffer));
        separator = ", ";
    }
    if (view->no_spills && view->study->environment.tool[0] == '\0') {
        fprintf(stream, "%sno spills", separator);
        separator = ", ";
    }
    if (separator[0] == ',')
        fputc('\n', stream);
}

static void print_failures(FILE *stream, const struct study *study, enum outcome outcome)
{
    size_t count = 0;
    struct reason *reasons = report_reasons(study, outcome, &count);
    size_t rest = 0;
    if (count > 0)
        fprintf(stream, "\n%s (%s):\n", outcome_name(outcome), outcome_meaning(outcome));
    for (size_t i = 0; i < count; i++) {
        if (i < SHOWN_REASONS)
            fprintf(stream, "  %5zu  %s\n", reasons[i].count, reasons[i].text);
        else
            rest += reasons[i].count;
    }
    if (rest > 0)
        fprintf(stream, "  %5zu  for %zu other reasons; --format csv lists them\n", rest,
                count - SHOWN_REASONS);
    report_reasons_free(reasons, count);
}

/* How much of the space was seen, and how the best time improved on the way. */
static void print_search(FILE *stream, const struct study *study)
{
    char share[REPORT_NUMBER_BYTES];
    char time[REPORT_NUMBER_BYTES];
    char seen[REPORT_NUMBER_BYTES];
    size_t count;
    if (!study_is_partial(study))
        return;
    struct improvement *improvements = improvements_of(study, &count);
    size_t first = count > SHOWN_IMPROVEMENTS ? count - SHOWN_IMPROVEMENTS : 0;
    fprintf(stream, "searched: %s of the space's variants were tried\n", report_seen(study, share));
    for (size_t i = first; i < count; i++)
        fprintf(stream, "%s%s us after %s s, variant %zu\n",
                i == first ? "improved: " : "          ",
                report_time(improvements[i].result->time.median_ns, time),
                report_fixed(improvements[i].result->seen_s, 1, seen), improvements[i].number);
    free(improvements);
    char *estimate = report_estimate(study);
    fprintf(stream, "%s\n", estimate);
    free(estimate);
}

static void print_counts(FILE *stream, const struct study *study)
{
    fprintf(stream, "\n%zu variant%s", study->result_count, study->result_count == 1 ? "" : "s");
    if (study->points > 0)
        fprintf(stream, " of %" PRIu64 " point%s (%s%" PRIu64 " rejected by constraints)",
                study->points, study->points == 1 ? "" : "s",
                study->rejected_estimated ? "about " : "", study->rejected);
    const char *separator = ": ";
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        size_t count = study_count(study, (enum outcome)i);
        if (count == 0)
            continue;
        fprintf(stream, "%s%zu %s", separator, count, outcome_name((enum outcome)i));
        separator = ", ";
    }
    fputc('\n', stream);
    for (size_t i = 0; i < study->rejection_count; i++)
        fprintf(stream, "  %5" PRIu64 "  constraint: %s\n", study->rejections[i].points,
                study->rejections[i].constraint);
    print_search(stream, study);
    if (!study->complete && study->refusal != NULL)
        fprintf(stream, "left out: %s\n", study->refusal);
    else if (!study->complete)
        fputs("not complete: run the same command again to continue\n", stream);
    for (int i = 0; i < OUTCOME_COUNT; i++)
        if (i != OUTCOME_MEASURED && i != OUTCOME_COMPILED)
            print_failures(stream, study, (enum outcome)i);
}

static void print_ties(FILE *stream, const struct view *view)
{
    const struct study *study = view->study;
    bool any = false;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[view->ranking[i]];
        if (!result->tied || view->ranking[i] == study->winner)
            continue;
        char buffer[CELL_BYTES];
        char *text = report_distinction(study, view->varies, result);
        fprintf(stream, "tied:   %s, %s us\n", text, report_time(result->time.median_ns, buffer));
        free(text);
        any = true;
    }
    if (any)
        fputs("within 0.25 % of the fastest, fewer registers win, then fewer threads per block\n",
              stream);
}

/* The best of another tool's variants, which is no winner: nothing was verified, and there were no
 * finals. */
static void print_best(FILE *stream, const struct view *view)
{
    size_t best = study_best(view->study);
    char buffer[CELL_BYTES];
    if (best == view->study->result_count)
        return;
    const struct result *result = &view->study->results[best];
    char *text = report_distinction(view->study, view->varies, result);
    fprintf(stream, "\nbest of %s: %s, %s us\n", view->study->environment.tool, text,
            report_time(result->time.median_ns, buffer));
    free(text);
}

static void print_winner(FILE *stream, const struct view *view)
{
    const struct study *study = view->study;
    if (study->environment.tool[0] != '\0') {
        print_best(stream, view);
        return;
    }
    if (!study->has_winner) {
        if (study->complete)
            fputs("\nno winner: no variant was measured\n", stream);
        return;
    }
    const struct result *winner = &study->results[study->winner];
    char buffer[CELL_BYTES];
    char *text = report_distinction(study, view->varies, winner);
    fprintf(stream, "\nwinner: %s, %s us (median of %zu samples)\n", text,
            report_time(winner->time.median_ns, buffer), winner->time.count);
    free(text);
    print_ties(stream, view);
}

static void print_group(FILE *stream, const struct study *const *group, size_t count, size_t top)
{
    const struct study *study = group[0];
    struct view view = view_of(study, top);
    report_heading(stream, group, count);
    print_constants(stream, &view);
    print_rows(stream, &view);
    print_counts(stream, study);
    if (!study->environment.static_mode)
        print_winner(stream, &view);
    report_headroom(stream, study, view.ranking, view.times ? view.rows : view.ranked);
    report_importance(stream, study);
    view_release(&view);
}

/* Study `first` and those after it with the same figures, which are marked as printed. Returns how
 * many. */
static size_t take_group(const struct study *studies, size_t count, size_t first, bool *printed,
                         const struct study **group)
{
    size_t members = 0;
    for (size_t i = first; i < count; i++) {
        if (printed[i] || (i > first && !report_same_figures(&studies[first], &studies[i])))
            continue;
        printed[i] = true;
        group[members++] = &studies[i];
    }
    return members;
}

void report_table(FILE *stream, const struct study *studies, size_t count, size_t top)
{
    const struct study **group = alloc_zeroed(count, sizeof *group);
    bool *printed = alloc_zeroed(count, sizeof *printed);
    for (size_t i = 0; i < count; i++) {
        if (printed[i])
            continue;
        if (i > 0)
            fputs("\n\n", stream);
        print_group(stream, group, take_group(studies, count, i, printed, group), top);
    }
    free(printed);
    free(group);
}
