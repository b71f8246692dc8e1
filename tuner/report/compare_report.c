#include "report/report.h"

#include "base/text_table.h"
#include "record/compare.h"
#include "report/report_formats.h"
#include "report/report_text.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static bool in_both(const struct comparison *comparison)
{
    return comparison->a != NULL && comparison->b != NULL;
}

/* Either side will do: kernel, problem and GPU are the same on both. */
static const struct tuned_entry *entry_of(const struct comparison *comparison)
{
    return comparison->a != NULL ? &comparison->a->entry : &comparison->b->entry;
}

/* --- table --- */

static void cell_time(struct text_table *table, const struct compare_item *item)
{
    char buffer[REPORT_NUMBER_BYTES];
    text_table_cell(table, item != NULL ? report_time(item->entry.median_ns, buffer) : "-");
}

static void print_rows(FILE *stream, const struct comparison *comparisons, size_t count)
{
    struct text_table *table = text_table_new();
    text_table_column(table, "kernel", TABLE_LEFT);
    text_table_column(table, "problem", TABLE_LEFT);
    text_table_column(table, "GPU", TABLE_LEFT);
    text_table_column(table, "A us", TABLE_RIGHT);
    text_table_column(table, "B us", TABLE_RIGHT);
    text_table_column(table, "change %", TABLE_RIGHT);
    text_table_column(table, "interval", TABLE_RIGHT);
    text_table_column(table, "B is", TABLE_LEFT);
    text_table_column(table, "choice", TABLE_LEFT);
    for (size_t i = 0; i < count; i++) {
        const struct comparison *comparison = &comparisons[i];
        const struct tuned_entry *entry = entry_of(comparison);
        char *problem = bindings_text(&entry->problem);
        text_table_cell(table, entry->kernel);
        text_table_cell(table, problem);
        text_table_cell(table, entry->gpu);
        cell_time(table, comparison->a);
        cell_time(table, comparison->b);
        const struct interval *ratio = &comparison->ratio;
        char change[REPORT_NUMBER_BYTES] = "-";
        char interval[2 * REPORT_NUMBER_BYTES] = "-";
        if (in_both(comparison)) {
            (void)snprintf(change, sizeof change, "%+.2f", 100 * (ratio->estimate - 1));
            (void)snprintf(interval, sizeof interval, "%+.2f to %+.2f", 100 * (ratio->low - 1),
                           100 * (ratio->high - 1));
        }
        text_table_cell(table, change);
        text_table_cell(table, interval);
        text_table_cell(table, compare_status_name(comparison->status));
        text_table_cell(table, in_both(comparison)
                                   ? compare_configuration_name(comparison->configuration)
                                   : "-");
        free(problem);
    }
    text_table_print(table, REPORT_TERMINAL_WIDTH, stream);
    text_table_free(table);
}

static void print_change(FILE *stream, const struct comparison *comparison)
{
    const struct tuned_entry *entry = entry_of(comparison);
    char *problem = bindings_text(&entry->problem);
    char *difference = compare_difference(comparison);
    char *circumstances = compare_circumstances(comparison);
    if (difference[0] != '\0' || circumstances[0] != '\0')
        fprintf(stream, "\n%s%s%s on %s:\n", entry->kernel, problem[0] != '\0' ? " " : "", problem,
                entry->gpu);
    if (difference[0] != '\0')
        fprintf(stream, "  %s%s\n", difference,
                comparison->configuration == COMPARE_TIED ? " (tied)" : "");
    if (circumstances[0] != '\0')
        fprintf(stream, "  %s\n", circumstances);
    free(circumstances);
    free(difference);
    free(problem);
}

void compare_report_table(FILE *stream, const struct comparison *comparisons, size_t count)
{
    print_rows(stream, comparisons, count);
    for (size_t i = 0; i < count; i++)
        if (in_both(&comparisons[i]))
            print_change(stream, &comparisons[i]);
    fputc('\n', stream);
    for (int status = 0; status < COMPARE_STATUS_COUNT; status++)
        fprintf(stream, "%s%zu %s", status > 0 ? ", " : "",
                compare_count(comparisons, count, (enum compare_status)status),
                compare_status_name((enum compare_status)status));
    fputc('\n', stream);
}

/* --- CSV --- */

static void csv_bindings(FILE *stream, const struct bindings *bindings)
{
    char *text = bindings_text(bindings);
    csv_text(stream, text);
    free(text);
}

/* Median and configuration of one side. */
static void csv_side(FILE *stream, const struct compare_item *item)
{
    if (item != NULL)
        fprintf(stream, "%.9g", item->entry.median_ns / 1000);
    fputc(',', stream);
    if (item != NULL)
        csv_bindings(stream, &item->entry.parameters);
    fputc(',', stream);
}

void compare_report_csv(FILE *stream, const struct comparison *comparisons, size_t count)
{
    fputs("kernel,problem,gpu,arch,status,a_median_us,a_parameters,b_median_us,b_parameters,ratio,"
          "ratio_low,ratio_high,ratio_from,configuration,circumstances\n",
          stream);
    for (size_t i = 0; i < count; i++) {
        const struct tuned_entry *entry = entry_of(&comparisons[i]);
        csv_text(stream, entry->kernel);
        fputc(',', stream);
        csv_bindings(stream, &entry->problem);
        fputc(',', stream);
        csv_text(stream, entry->gpu);
        fprintf(stream, ",%s,%s,", entry->arch, compare_status_name(comparisons[i].status));
        csv_side(stream, comparisons[i].a);
        csv_side(stream, comparisons[i].b);
        if (in_both(&comparisons[i])) {
            const struct interval *ratio = &comparisons[i].ratio;
            char *circumstances = compare_circumstances(&comparisons[i]);
            fprintf(stream, "%.9g,%.9g,%.9g,%s,%s,", ratio->estimate, ratio->low, ratio->high,
                    comparisons[i].sampled ? "samples" : "intervals",
                    compare_configuration_name(comparisons[i].configuration));
            csv_text(stream, circumstances);
            free(circumstances);
        } else {
            fputs(",,,,,", stream);
        }
        fputc('\n', stream);
    }
}

/* --- JSON --- */

static json_t *side_json(const struct compare_item *item)
{
    if (item == NULL)
        return json_null();
    const struct tuned_entry *entry = &item->entry;
    return json_pack("{s:o, s:o, s:o, s:I, s:o, s:s, s:s, s:s, s:s, s:s}", "median_ns",
                     real_json(entry->median_ns), "low_ns", real_json(entry->low_ns), "high_ns",
                     real_json(entry->high_ns), "samples", (json_int_t)entry->samples, "parameters",
                     bindings_to_json(&entry->parameters), "cache", entry->cache, "driver",
                     entry->driver, "nvrtc", entry->nvrtc, "template_hash", entry->template_hash,
                     "date", entry->date);
}

static json_t *comparison_json(const struct comparison *comparison)
{
    const struct tuned_entry *entry = entry_of(comparison);
    json_t *object =
        json_pack("{s:s, s:o, s:s, s:s, s:s, s:o, s:o}", "kernel", entry->kernel, "problem",
                  bindings_to_json(&entry->problem), "gpu", entry->gpu, "arch", entry->arch,
                  "status", compare_status_name(comparison->status), "a", side_json(comparison->a),
                  "b", side_json(comparison->b));
    if (!in_both(comparison))
        return object;
    set(object, "ratio",
        json_pack("{s:o, s:o, s:o, s:s}", "estimate", real_json(comparison->ratio.estimate), "low",
                  real_json(comparison->ratio.low), "high", real_json(comparison->ratio.high),
                  "from", comparison->sampled ? "samples" : "intervals"));
    set(object, "configuration",
        json_string(compare_configuration_name(comparison->configuration)));
    return object;
}

void compare_report_json(FILE *stream, const struct comparison *comparisons, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(array, comparison_json(&comparisons[i]));
    (void)json_dumpf(array, stream, JSON_INDENT(1) | JSON_PRESERVE_ORDER); /* see ferror(stream) */
    fputc('\n', stream);
    json_decref(array);
}
