#include "report/html_parts.h"

#include "report/html_text.h"
#include "report/report_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 24 for 2^24; 0 unless it is a power of two large enough to be hard to read. */
static int exponent_of(struct value value)
{
    int exponent = 0;
    if (value.kind != VALUE_INTEGER || value.as.integer < 4096 ||
        (value.as.integer & (value.as.integer - 1)) != 0)
        return 0;
    for (int64_t rest = value.as.integer; rest > 1; rest /= 2)
        exponent++;
    return exponent;
}

void html_problem(FILE *stream, const struct bindings *problem)
{
    for (size_t i = 0; i < problem->count; i++) {
        char value[VALUE_TEXT_BYTES];
        int exponent = exponent_of(problem->items[i].value);
        fprintf(stream, "%s%s = ", i > 0 ? ", " : "", problem->items[i].name);
        html_text(stream, value_text(problem->items[i].value, value));
        if (exponent > 0)
            fprintf(stream, " (2<sup>%d</sup>)", exponent);
    }
}

static const struct result *winner_of(const struct study *study)
{
    return study->has_winner && study->results[study->winner].time.median_ns > 0
               ? &study->results[study->winner]
               : NULL;
}

double html_roof_share(const struct study *study, const struct roofs *roofs)
{
    const struct result *winner = winner_of(study);
    if (winner == NULL)
        return 0;
    double bytes =
        roofs->bytes_per_ns > 0 ? winner->bytes / winner->time.median_ns / roofs->bytes_per_ns : 0;
    double operations = roofs->operations_per_ns > 0
                            ? winner->operations / winner->time.median_ns / roofs->operations_per_ns
                            : 0;
    /* a kernel that moves no bytes counts rounds and the like, not floating-point operations */
    return winner->bytes > 0 ? fmax(bytes, operations) : 0;
}

/* " (68 % of the theoretical 4.917 TB/s)"; `unit` is 1000 times the unit of `rate` and `roof`. */
static void print_share(FILE *stream, double rate, double roof, bool was_measured, const char *unit)
{
    char number[REPORT_NUMBER_BYTES];
    fprintf(stream, " (%.0f&nbsp;%% of the %s %s %s)", 100 * rate / roof,
            was_measured ? "measured" : "theoretical", report_number(roof / 1000, number), unit);
}

/* ", 3334 GB/s (68 % of the theoretical 4.917 TB/s)", or GFLOP/s if that roof is nearer. */
static void print_rate(FILE *stream, const struct study *study, const struct result *winner,
                       const struct roofs *roofs)
{
    char number[REPORT_NUMBER_BYTES];
    if (winner->operations > 0 && report_few_operations(study))
        fprintf(stream, ", %s&nbsp;ns per operation",
                report_number(winner->time.median_ns / winner->operations, number));
    if (winner->bytes <= 0)
        return;
    double bytes = winner->bytes / winner->time.median_ns;
    double operations = winner->operations / winner->time.median_ns;
    double share = html_roof_share(study, roofs);
    if (roofs->operations_per_ns > 0 && share == operations / roofs->operations_per_ns) {
        fprintf(stream, ", %s GFLOP/s", report_number(operations, number));
        print_share(stream, operations, roofs->operations_per_ns, roofs->operations_measured,
                    "TFLOP/s");
        return;
    }
    fprintf(stream, ", %s GB/s", report_number(bytes, number));
    if (roofs->bytes_per_ns > 0)
        print_share(stream, bytes, roofs->bytes_per_ns, roofs->bytes_measured, "TB/s");
}

static void print_roof(FILE *stream, double roof, const char *unit, bool was_measured,
                       const char *kernel)
{
    char number[REPORT_NUMBER_BYTES];
    fprintf(stream, "%s %s, ", report_number(roof / 1000, number), unit);
    if (was_measured)
        fprintf(stream, "measured by <code>%s</code>", kernel);
    else
        fputs("theoretical", stream);
}

void html_roofs(FILE *stream, const struct study *study, const struct roofs *roofs)
{
    if (study->environment.static_mode || roofs->bytes_per_ns <= 0 || roofs->operations_per_ns <= 0)
        return;
    fputs("<p class=\"muted\">Roofs: ", stream);
    print_roof(stream, roofs->bytes_per_ns, "TB/s", roofs->bytes_measured, "roof_copy");
    fputs("; ", stream);
    print_roof(stream, roofs->operations_per_ns, "TFLOP/s in float32", roofs->operations_measured,
               "roof_fma");
    if (!roofs->bytes_measured || !roofs->operations_measured)
        fputs(". <code>autotune --config configs/roofs.ini</code> measures them", stream);
    fputs(".</p>\n", stream);
}

static void print_ties(FILE *stream, const struct study *study)
{
    size_t tied = 0;
    for (size_t i = 0; i < study->result_count; i++)
        tied += study->results[i].tied && i != study->winner;
    if (tied > 0)
        fprintf(stream,
                "; %zu other variant%s with it (the tie is broken by fewer registers, then by "
                "fewer threads per block)",
                tied, tied > 1 ? "s tie" : " ties");
}

/* The parameters that distinguish a variant, as code. */
static void print_distinction(FILE *stream, const struct study *study, const struct result *result)
{
    bool *varying = report_varying(study);
    char *text = report_distinction(study, varying, result);
    fputs("<code>", stream);
    html_text(stream, text);
    fputs("</code>", stream);
    free(text);
    free(varying);
}

static void print_sentence(FILE *stream, const struct study *study, const struct result *winner,
                           const struct roofs *roofs)
{
    char time[REPORT_NUMBER_BYTES], low[REPORT_NUMBER_BYTES], high[REPORT_NUMBER_BYTES];
    fputs("On the ", stream);
    html_text(stream, study->environment.gpu.name);
    fputs(", ", stream);
    html_text(stream, study->kernel);
    if (study->result_count > 1) {
        fputs(" is fastest with ", stream);
        print_distinction(stream, study, winner);
        fputc(':', stream);
    } else {
        fputs(" takes", stream);
    }
    fprintf(stream, " <strong>%s&nbsp;µs</strong> (95&nbsp;%% interval %s to %s, %zu samples)",
            report_time(winner->time.median_ns, time), report_time(winner->time.low_ns, low),
            report_time(winner->time.high_ns, high), winner->time.count);
    print_rate(stream, study, winner, roofs);
    print_ties(stream, study);
    fputc('.', stream);
}

/* The best of another tool's variants, which is no winner. */
static void print_best(FILE *stream, const struct study *study)
{
    char number[REPORT_NUMBER_BYTES];
    size_t best = study_best(study);
    fputs("Measured by ", stream);
    html_text(stream, study->environment.tool);
    fputs(", not by autotune.", stream);
    if (best == study->result_count)
        return;
    fputs(" Its best variant is ", stream);
    print_distinction(stream, study, &study->results[best]);
    fprintf(stream, ", %s&nbsp;µs.", report_time(study->results[best].time.median_ns, number));
}

void html_winner(FILE *stream, const struct study *study, const struct roofs *roofs)
{
    const struct result *winner = winner_of(study);
    fputs("<p class=\"winner\">", stream);
    if (study->environment.static_mode) {
        fputs("Compiled for ", stream);
        html_text(stream, study->environment.gpu.arch);
        fputs(" with the limits of the ", stream);
        html_text(stream, study->environment.gpu.name);
        fputs(". Nothing was run, so there are no times.", stream);
    } else if (study->environment.tool[0] != '\0') {
        print_best(stream, study);
    } else if (winner != NULL) {
        print_sentence(stream, study, winner, roofs);
    } else {
        fputs(study->complete ? "No winner: no variant was measured." : "No winner yet.", stream);
    }
    if (!study->complete && study->refusal != NULL) {
        fputs(" This problem was left out: ", stream);
        html_text(stream, study->refusal);
    } else if (!study->complete) {
        fputs(" This run is incomplete; run the same command again to continue it.", stream);
    }
    fputs("</p>\n", stream);
}

static void overview_subject(FILE *stream, const struct study *study, size_t index,
                             bool same_kernel, bool same_gpu)
{
    fprintf(stream, "<tr><td class=\"l\"><a href=\"#s%zu\">", index);
    if (!same_kernel) {
        html_text(stream, study->kernel);
        fputs("</a></td><td class=\"l\">", stream);
    }
    html_problem(stream, &study->problem);
    if (strcmp(study->cache, "warm") == 0)
        fputs(", warm cache", stream);
    if (study->environment.tool[0] != '\0') {
        fputs(", by ", stream);
        html_text(stream, study->environment.tool);
    }
    fputs(same_kernel ? "</a></td>" : "</td>", stream);
    if (same_gpu)
        return;
    fputs(study->environment.static_mode ? "<td class=\"l\">static " : "<td class=\"l\">", stream);
    html_text(stream, study->environment.static_mode ? study->environment.gpu.arch
                                                     : study->environment.gpu.name);
    fputs("</td>", stream);
}

static void overview_result(FILE *stream, const struct study *study, const struct roofs *roofs,
                            bool rates)
{
    const struct result *winner = winner_of(study);
    char number[REPORT_NUMBER_BYTES];
    double share = html_roof_share(study, roofs);
    fputs("<td class=\"l wrap\">", stream);
    if (winner != NULL)
        print_distinction(stream, study, winner);
    fprintf(stream, "</td><td>%s</td>",
            winner != NULL ? report_time(winner->time.median_ns, number) : "");
    if (rates && winner != NULL && winner->bytes > 0)
        fprintf(stream, "<td>%s</td><td>%.0f&nbsp;%%</td>",
                report_number(winner->bytes / winner->time.median_ns, number), 100 * share);
    else if (rates)
        fputs("<td></td><td></td>", stream);
    fprintf(stream, "<td>%zu</td></tr>\n", study->result_count);
}

void html_overview(FILE *stream, const struct study *studies, const struct roofs *roofs,
                   size_t count, bool same_kernel, bool same_gpu)
{
    bool rates = false;
    for (size_t i = 0; i < count; i++) {
        const struct result *winner = winner_of(&studies[i]);
        rates = rates || (winner != NULL && winner->bytes > 0);
    }
    fprintf(stream,
            "<div class=\"scroll\"><table class=\"sortable\"><thead><tr>%s"
            "<th class=\"l\">problem</th>%s<th class=\"l\">fastest</th><th>time, µs</th>"
            "%s<th>variants</th></tr></thead><tbody>\n",
            same_kernel ? "" : "<th class=\"l\">kernel</th>",
            same_gpu ? "" : "<th class=\"l\">GPU</th>",
            rates ? "<th>GB/s</th><th>share of roof</th>" : "");
    for (size_t i = 0; i < count; i++) {
        overview_subject(stream, &studies[i], i, same_kernel, same_gpu);
        overview_result(stream, &studies[i], &roofs[i], rates);
    }
    fputs("</tbody></table></div>\n", stream);
}
