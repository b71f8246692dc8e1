#include "base/alloc.h"
#include "report/charts.h"
#include "report/plot.h"
#include "report/report.h"
#include "report/report_formats.h"
#include "report/report_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- style --- */

enum { MAX_COLUMNS = 40 }; /* at most, that can be aligned to the left */

extern const char page_style[];  /* page.css */
extern const char page_script[]; /* page.js */

void html_style(FILE *stream)
{
    fprintf(stream, "<style>\n%s", page_style);
    /* a heading's class aligns its whole column */
    for (int i = 1; i <= MAX_COLUMNS; i++)
        fprintf(stream, "table:has(th.l:nth-child(%d)) td:nth-child(%d)%s", i, i,
                i < MAX_COLUMNS ? ",\n" : "{text-align:left}\n");
    svg_write_colours(stream);
    fputs("</style>\n", stream);
}

/* --- sentences and the overview --- */

/* "n = 16777216 (2^24), value_type = float"; nothing for an empty problem. */
static void print_problem(FILE *stream, const struct bindings *problem)
{
    for (size_t i = 0; i < problem->count; i++) {
        char text[VALUE_TEXT_BYTES];
        const struct value value = problem->items[i].value;
        html_print(stream, "%s%s = %s", i > 0 ? ", " : "", problem->items[i].name,
                   value_text(value, text));
        if (value.kind == VALUE_INTEGER && value.as.integer >= 4096 &&
            (value.as.integer & (value.as.integer - 1)) == 0) /* large enough to be hard to read */
            fprintf(stream, " (2<sup>%d</sup>)",
                    __builtin_ctzll((unsigned long long)value.as.integer));
    }
}

static const struct result *winner_of(const struct study *study)
{
    return study->has_winner && study->results[study->winner].time.median_ns > 0
               ? &study->results[study->winner]
               : NULL;
}

/* The winner's rate divided by the roof that limits it; 0 if there is no winner or no roof. */
static double roof_share(const struct study *study, const struct roofs *roofs)
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
    double share = roof_share(study, roofs);
    bool by_operations =
        roofs->operations_per_ns > 0 && share == operations / roofs->operations_per_ns;
    double rate = by_operations ? operations : bytes;
    double roof = by_operations ? roofs->operations_per_ns : roofs->bytes_per_ns;
    bool was_measured = by_operations ? roofs->operations_measured : roofs->bytes_measured;
    fprintf(stream, ", %s %s", report_number(rate, number), by_operations ? "GFLOP/s" : "GB/s");
    if (roof > 0)
        fprintf(stream, " (%.0f&nbsp;%% of the %s %s %s)", 100 * rate / roof,
                was_measured ? "measured" : "theoretical", report_number(roof / 1000, number),
                by_operations ? "TFLOP/s" : "TB/s");
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

/* A paragraph with the roofs of the study's GPU and whether they are measured; nothing in static mode or if none is
 * known. */
static void print_roofs(FILE *stream, const struct study *study, const struct roofs *roofs)
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

/* The parameters that distinguish a variant, as code. */
static void print_distinction(FILE *stream, const struct study *study, const struct result *result)
{
    bool *varying = report_varying(study);
    char *text = report_distinction(study, varying, result);
    html_print(stream, "<code>%s</code>", text);
    free(text);
    free(varying);
}

static void print_sentence(FILE *stream, const struct study *study, const struct result *winner,
                           const struct roofs *roofs)
{
    char time[REPORT_NUMBER_BYTES], low[REPORT_NUMBER_BYTES], high[REPORT_NUMBER_BYTES];
    html_print(stream, "On the %s, %s", study->environment.gpu.name, study->kernel);
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
    size_t tied = 0;
    for (size_t i = 0; i < study->result_count; i++)
        tied += study->results[i].tied && i != study->winner;
    if (tied > 0)
        fprintf(stream,
                "; %zu other variant%s with it (the tie is broken by fewer registers, then by "
                "fewer threads per block)",
                tied, tied > 1 ? "s tie" : " ties");
    fputc('.', stream);
}

/* A paragraph that names the winner, its time and its ties, or says why there is none. */
static void print_winner(FILE *stream, const struct study *study, const struct roofs *roofs)
{
    const struct result *winner = winner_of(study);
    fputs("<p class=\"winner\">", stream);
    if (study->environment.static_mode) {
        html_print(stream,
                   "Compiled for %s with the limits of the %s. Nothing was run, so there are no "
                   "times.",
                   study->environment.gpu.arch, study->environment.gpu.name);
    } else if (study->environment.tool[0] != '\0') { /* whose best is no winner */
        char number[REPORT_NUMBER_BYTES];
        size_t best = study_best(study);
        html_print(stream, "Measured by %s, not by autotune.", study->environment.tool);
        if (best < study->result_count) {
            fputs(" Its best variant is ", stream);
            print_distinction(stream, study, &study->results[best]);
            fprintf(stream, ", %s&nbsp;µs.",
                    report_time(study->results[best].time.median_ns, number));
        }
    } else if (winner != NULL) {
        print_sentence(stream, study, winner, roofs);
    } else {
        fputs(study->complete ? "No winner: no variant was measured." : "No winner yet.", stream);
    }
    if (!study->complete && study->refusal != NULL)
        html_print(stream, " This problem was left out: %s", study->refusal);
    else if (!study->complete)
        fputs(" This run is incomplete; run the same command again to continue it.", stream);
    fputs("</p>\n", stream);
}

static void overview_subject(FILE *stream, const struct study *study, size_t index,
                             bool same_kernel, bool same_gpu)
{
    fprintf(stream, "<tr><td class=\"l\"><a href=\"#s%zu\">", index);
    if (!same_kernel)
        html_print(stream, "%s</a></td><td class=\"l\">", study->kernel);
    print_problem(stream, &study->problem);
    if (strcmp(study->cache, "warm") == 0)
        fputs(", warm cache", stream);
    if (study->environment.tool[0] != '\0')
        html_print(stream, ", by %s", study->environment.tool);
    fputs(same_kernel ? "</a></td>" : "</td>", stream);
    if (!same_gpu)
        html_print(stream, "<td class=\"l\">%s%s</td>",
                   study->environment.static_mode ? "static " : "",
                   study->environment.static_mode ? study->environment.gpu.arch
                                                  : study->environment.gpu.name);
}

static void overview_result(FILE *stream, const struct study *study, const struct roofs *roofs,
                            bool rates)
{
    const struct result *winner = winner_of(study);
    char number[REPORT_NUMBER_BYTES];
    double share = roof_share(study, roofs);
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

/* A table with a row per study: kernel and GPU if they differ, problem, winner, time, rate and share of the roof.
 * `roofs` has those of each study. */
static void print_overview(FILE *stream, const struct study *studies, const struct roofs *roofs,
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

/* --- the page --- */

/* The studies of a page, and what was calculated for each. */
struct page {
    const struct study *studies;
    size_t count;
    struct importance *importance; /* of each study */
    struct roofs *roofs;           /* of each study */
    bool same_kernel, same_gpu, same_template;
};

static void page_init(struct page *page, const struct study *studies, size_t count,
                      const struct study *record, size_t record_count)
{
    *page = (struct page){.studies = studies,
                          .count = count,
                          .same_kernel = true,
                          .same_gpu = true,
                          .same_template = true};
    page->importance = alloc_zeroed(count, sizeof *page->importance);
    page->roofs = alloc_zeroed(count, sizeof *page->roofs);
    for (size_t i = 0; i < count; i++) {
        const struct environment *first = &studies[0].environment;
        const struct environment *other = &studies[i].environment;
        importance_find(&studies[i], &page->importance[i]);
        roofs_find(&studies[i], record, record_count, &page->roofs[i]);
        page->same_kernel = page->same_kernel && strcmp(studies[i].kernel, studies[0].kernel) == 0;
        page->same_template =
            page->same_template && strcmp(studies[i].template_name, studies[0].template_name) == 0;
        page->same_gpu =
            page->same_gpu && strcmp(first->gpu.name, other->gpu.name) == 0 &&
            strcmp(first->gpu.arch, other->gpu.arch) == 0 &&
            first->gpu.attributes[GPU_sm_count] == other->gpu.attributes[GPU_sm_count] &&
            first->static_mode == other->static_mode && strcmp(first->tool, other->tool) == 0;
    }
}

/* --- the head --- */

static void print_title(FILE *stream, const struct page *page)
{
    if (page->count == 0) {
        fputs("autotune: nothing to report", stream);
        return;
    }
    const struct environment *environment = &page->studies[0].environment;
    if (page->same_kernel)
        html_text(stream, page->studies[0].kernel);
    else if (page->same_template)
        html_text(stream, page->studies[0].template_name);
    else
        fputs("Tuned kernels", stream);
    fputs(!page->same_gpu            ? " on several GPUs"
          : environment->static_mode ? " compiled for "
                                     : " on ",
          stream);
    if (page->same_gpu)
        html_text(stream, environment->static_mode ? environment->gpu.arch : environment->gpu.name);
}

static void print_fact(FILE *stream, const char *name, const char *value)
{
    if (value == NULL || value[0] == '\0')
        return;
    html_print(stream, "<div><dt>%s</dt><dd>%s</dd></div>\n", name, value);
}

static void print_facts(FILE *stream, const struct study *study)
{
    const struct environment *environment = &study->environment;
    char versions[128];
    (void)snprintf(versions, sizeof versions, "autotune %s, NVRTC %s%s%.31s", environment->autotune,
                   environment->nvrtc, environment->gpu.driver[0] != '\0' ? ", driver " : "",
                   environment->gpu.driver);
    fputs("<dl class=\"facts\">\n", stream);
    if (environment->tool[0] != '\0') {
        print_fact(stream, "GPU", environment->gpu.name);
        print_fact(stream, "measured by", environment->tool);
    } else {
        const struct gpu *gpu = &environment->gpu;
        html_print(stream, "<div><dt>%s</dt><dd>%s", environment->static_mode ? "limits of" : "GPU",
                   gpu->name);
        fprintf(stream, ", %s, %" PRId64 " SMs, %" PRId64 " MiB L2, %" PRId64 " GiB</dd></div>\n",
                gpu->arch, gpu->attributes[GPU_sm_count], gpu->attributes[GPU_l2_bytes] >> 20,
                gpu->memory_bytes >> 30);
        print_fact(stream, "versions", versions);
    }
    print_fact(stream, "date", environment->date);
    if (environment->command != NULL)
        html_print(stream, "<div class=\"wide\"><dt>command</dt><dd><code>%s</code></dd></div>\n",
                   environment->command);
    fputs("</dl>\n", stream);
}

static void print_head(FILE *stream, const struct page *page)
{
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
          "<meta name=\"generator\" content=\"autotune " AUTOTUNE_VERSION "\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n<title>",
          stream);
    print_title(stream, page);
    fputs("</title>\n", stream);
    html_style(stream);
    fputs("</head>\n<body>\n<header>\n<h1>", stream);
    print_title(stream, page);
    fputs("</h1>\n", stream);
    if (page->count > 0 && page->same_kernel)
        html_print(stream, "<p class=\"muted\">%s</p>\n", page->studies[0].description);
    if (page->count > 0 && page->same_gpu) {
        print_facts(stream, &page->studies[0]);
        for (size_t i = 0; i < page->count; i++) /* once: those of the first that is compared */
            if (roof_share(&page->studies[i], &page->roofs[i]) > 0) {
                print_roofs(stream, &page->studies[i], &page->roofs[i]);
                break;
            }
    }
    fputs("</header>\n", stream);
    if (page->count > 1)
        print_overview(stream, page->studies, page->roofs, page->count, page->same_kernel,
                       page->same_gpu);
}

/* --- a study --- */

static void print_counts(FILE *stream, const struct study *study)
{
    char number[REPORT_NUMBER_BYTES];
    fputs("<p class=\"muted\">", stream);
    if (!study->environment.static_mode && study->environment.tool[0] == '\0') {
        fprintf(stream, "The L2 cache was %s at each sample. ", study->cache);
        if (study->empty_kernel_ns > 0)
            fprintf(stream, "An empty kernel takes %s µs. ",
                    report_time(study->empty_kernel_ns, number));
        report_sampling(stream, study, true);
    }
    if (study->points > 0)
        fprintf(stream, "Of %" PRIu64 " point%s in the space, constraints rejected %s%" PRIu64 ". ",
                study->points, study->points == 1 ? "" : "s",
                study->rejected_estimated ? "about " : "", study->rejected);
    fprintf(stream, "%zu variant%s", study->result_count, study->result_count == 1 ? "" : "s");
    report_outcomes(stream, study);
    if (study_is_partial(study)) {
        char *estimate = report_estimate(study);
        fprintf(stream, ". A search chose them: %s of the space's variants were tried; %s",
                report_seen(study, number), estimate);
        free(estimate);
    }
    fputs(".</p>\n", stream);
}

static void print_constants(FILE *stream, const struct study *study)
{
    bool *varying = report_varying(study);
    char *constants = report_constants(study, varying, " ");
    if (constants[0] != '\0')
        html_print(stream, "<p class=\"muted\">All variants: <code>%s</code></p>\n", constants);
    free(constants);
    free(varying);
}

static void print_study(FILE *stream, const struct page *page, size_t index)
{
    const struct study *study = &page->studies[index];
    fprintf(stream, "<section id=\"s%zu\">\n<h2>", index);
    html_print(stream, "%s%s", study->kernel, study->problem.count > 0 ? ": " : "");
    print_problem(stream, &study->problem);
    fputs("</h2>\n", stream);
    if (!page->same_gpu) {
        print_facts(stream, study);
        if (roof_share(study, &page->roofs[index]) > 0)
            print_roofs(stream, study, &page->roofs[index]);
    }
    print_winner(stream, study, &page->roofs[index]);
    print_counts(stream, study);
    print_constants(stream, study);
    const struct charts charts = {.stream = stream,
                                  .study = study,
                                  .importance = &page->importance[index],
                                  .roofs = &page->roofs[index]};
    html_charts(&charts);
    html_importance(stream, study, &page->importance[index]);
    html_headroom(stream, study);
    html_failures(stream, study);
    html_variants(stream, study);
    fputs("</section>\n", stream);
}

int report_html(FILE *stream, const struct study *studies, size_t count,
                const struct report_options *options, struct error *error)
{
    (void)error;
    struct page page;
    if (options->record != NULL)
        page_init(&page, studies, count, options->record, options->record_count);
    else
        page_init(&page, studies, count, studies, count);
    print_head(stream, &page);
    fputs("<main>\n", stream);
    for (size_t i = 0; i < count; i++)
        print_study(stream, &page, i);
    fputs("</main>\n<footer>Times are medians, measured between CUDA events and including launch "
          "overhead; intervals are 95 % confidence intervals of the median. Noise is the "
          "interquartile range divided by the median. Occupancy is that of the main launch, "
          "calculated from its registers, shared memory and block size. Made by "
          "autotune " AUTOTUNE_VERSION ".</footer>\n",
          stream);
    fprintf(stream, "<script>\n%s</script>\n</body>\n</html>\n", page_script);
    for (size_t i = 0; i < count; i++)
        importance_release(&page.importance[i]);
    free(page.importance);
    free(page.roofs);
    return 0;
}
