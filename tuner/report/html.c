#include "report/html.h"

#include "base/alloc.h"
#include "report/html_charts.h"
#include "report/html_parts.h"
#include "report/html_text.h"
#include "report/report_gpus.h"
#include "report/report_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The studies of a page, and what was calculated for each. */
struct page {
    const struct study *studies;
    size_t count;
    struct importance *importance; /* of each study */
    struct roofs *roofs;           /* of each study */
};

static void page_init(struct page *page, const struct study *studies, size_t count,
                      const struct study *record, size_t record_count)
{
    *page = (struct page){.studies = studies, .count = count};
    page->importance = alloc_zeroed(count, sizeof *page->importance);
    page->roofs = alloc_zeroed(count, sizeof *page->roofs);
    for (size_t i = 0; i < count; i++) {
        importance_find(&studies[i], &page->importance[i]);
        roofs_find(&studies[i], record, record_count, &page->roofs[i]);
    }
}

static void page_release(struct page *page)
{
    for (size_t i = 0; i < page->count; i++)
        importance_release(&page->importance[i]);
    free(page->importance);
    free(page->roofs);
}

/* --- the head --- */

static bool same_kernel(const struct page *page)
{
    for (size_t i = 1; i < page->count; i++)
        if (strcmp(page->studies[i].kernel, page->studies[0].kernel) != 0)
            return false;
    return true;
}

static bool same_gpu(const struct page *page)
{
    const struct environment *first = &page->studies[0].environment;
    for (size_t i = 1; i < page->count; i++) {
        const struct environment *other = &page->studies[i].environment;
        if (strcmp(first->gpu.name, other->gpu.name) != 0 ||
            strcmp(first->gpu.arch, other->gpu.arch) != 0 ||
            first->gpu.attributes[GPU_sm_count] != other->gpu.attributes[GPU_sm_count] ||
            first->static_mode != other->static_mode || strcmp(first->tool, other->tool) != 0)
            return false;
    }
    return true;
}

static bool same_template(const struct page *page)
{
    for (size_t i = 1; i < page->count; i++)
        if (strcmp(page->studies[i].template_name, page->studies[0].template_name) != 0)
            return false;
    return true;
}

static void print_title(FILE *stream, const struct page *page)
{
    if (page->count == 0) {
        fputs("autotune: nothing to report", stream);
        return;
    }
    const struct environment *environment = &page->studies[0].environment;
    if (same_kernel(page))
        html_text(stream, page->studies[0].kernel);
    else if (same_template(page))
        html_text(stream, page->studies[0].template_name);
    else
        fputs("Tuned kernels", stream);
    fputs(!same_gpu(page)            ? " on several GPUs"
          : environment->static_mode ? " compiled for "
                                     : " on ",
          stream);
    if (same_gpu(page))
        html_text(stream, environment->static_mode ? environment->gpu.arch : environment->gpu.name);
}

static void print_fact(FILE *stream, const char *name, const char *value)
{
    if (value == NULL || value[0] == '\0')
        return;
    fprintf(stream, "<div><dt>%s</dt><dd>", name);
    html_text(stream, value);
    fputs("</dd></div>\n", stream);
}

static void print_gpu(FILE *stream, const struct environment *environment)
{
    const struct gpu *gpu = &environment->gpu;
    fprintf(stream, "<div><dt>%s</dt><dd>", environment->static_mode ? "limits of" : "GPU");
    html_text(stream, gpu->name);
    fprintf(stream, ", %s, %" PRId64 " SMs, %" PRId64 " MiB L2, %" PRId64 " GiB</dd></div>\n",
            gpu->arch, gpu->attributes[GPU_sm_count], gpu->attributes[GPU_l2_bytes] >> 20,
            gpu->memory_bytes >> 30);
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
        print_gpu(stream, environment);
        print_fact(stream, "versions", versions);
    }
    print_fact(stream, "date", environment->date);
    if (environment->command != NULL) {
        fputs("<div class=\"wide\"><dt>command</dt><dd><code>", stream);
        html_text(stream, environment->command);
        fputs("</code></dd></div>\n", stream);
    }
    fputs("</dl>\n", stream);
}

/* Once, if all studies have the same roofs: those of the first that is compared with them. */
static void print_roofs(FILE *stream, const struct page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        if (html_roof_share(&page->studies[i], &page->roofs[i]) > 0) {
            html_roofs(stream, &page->studies[i], &page->roofs[i]);
            return;
        }
    }
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
    fputs("</head>\n<body>\n", stream);
    fputs("<header>\n<h1>", stream);
    print_title(stream, page);
    fputs("</h1>\n", stream);
    if (page->count > 0 && same_kernel(page)) {
        fputs("<p class=\"muted\">", stream);
        html_text(stream, page->studies[0].description);
        fputs("</p>\n", stream);
    }
    if (page->count > 0 && same_gpu(page)) {
        print_facts(stream, &page->studies[0]);
        print_roofs(stream, page);
    }
    fputs("</header>\n", stream);
    if (page->count > 1)
        html_overview(stream, page->studies, page->roofs, page->count, same_kernel(page),
                      same_gpu(page));
}

/* --- a study --- */

static void print_batches(FILE *stream, const struct study *study)
{
    char number[REPORT_NUMBER_BYTES];
    int runs;
    size_t single;
    if (study_batched(study, &runs, &single) == 0)
        return;
    fprintf(stream, "Each sample is the mean of a batch of %d runs", runs);
    if (single > 0)
        fprintf(stream, ", except that %zu variant%s measured in single runs", single,
                single > 1 ? "s were" : " was");
    fprintf(stream, "; in a batch, an empty kernel takes %s µs. ",
            report_time(study->empty_batch_ns, number));
}

static void print_conditions(FILE *stream, const struct gpu_conditions *conditions)
{
    if (!conditions->known)
        return;
    fprintf(stream, "The mean SM clock was %.0f MHz. ", conditions->sm_clock_mhz);
    if (conditions->dropped_samples == 0 && conditions->throttled_samples == 0)
        fputs("No throttling was detected. ", stream);
    else
        fprintf(stream,
                "Of the samples taken while the GPU was throttled, %" PRIu64
                " were replaced and %" PRIu64 " kept. ",
                conditions->dropped_samples, conditions->throttled_samples);
    if (conditions->other_processes == 0)
        fputs("No other process used the GPU. ", stream);
    else
        fprintf(stream, "<strong>%d other process%s used the GPU.</strong> ",
                conditions->other_processes, conditions->other_processes == 1 ? "" : "es");
}

static void print_gpus(FILE *stream, const struct study *study)
{
    if (study->gpu_count > 1)
        fprintf(stream, "The variants were screened on %zu GPUs, and the finals held on %s. ",
                study->gpu_count, study->gpus[0].uuid);
    for (size_t i = 1; i < study->gpu_count; i++) {
        fprintf(stream, "%s: ", study->gpus[i].uuid);
        report_gpu(stream, &study->gpus[i]);
        fputs(". ", stream);
    }
}

static void print_counts(FILE *stream, const struct study *study)
{
    char number[REPORT_NUMBER_BYTES];
    fputs("<p class=\"muted\">", stream);
    if (!study->environment.static_mode && study->environment.tool[0] == '\0') {
        fprintf(stream, "The L2 cache was %s at each sample. ", study->cache);
        if (study->empty_kernel_ns > 0)
            fprintf(stream, "An empty kernel takes %s µs. ",
                    report_time(study->empty_kernel_ns, number));
        print_batches(stream, study);
        print_conditions(stream, &study->conditions);
        print_gpus(stream, study);
        if (study->one_data_set)
            fputs("The variants were verified on one data set: no fill is random, or an expected "
                  "result "
                  "is a file. ",
                  stream);
    }
    if (study->points > 0)
        fprintf(stream, "Of %" PRIu64 " point%s in the space, constraints rejected %s%" PRIu64 ". ",
                study->points, study->points == 1 ? "" : "s",
                study->rejected_estimated ? "about " : "", study->rejected);
    fprintf(stream, "%zu variant%s", study->result_count, study->result_count == 1 ? "" : "s");
    const char *separator = ": ";
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        size_t count = study_count(study, (enum outcome)i);
        if (count > 0) {
            fprintf(stream, "%s%zu %s", separator, count, outcome_name((enum outcome)i));
            separator = ", ";
        }
    }
    if (study_is_partial(study)) {
        char *estimate = report_estimate(study);
        fprintf(stream, ". A search chose them: %s of the space's variants were tried; %s",
                report_seen(study, number), estimate);
        free(estimate);
    }
    fputs(".</p>\n", stream);
}

/* The parameters with one value in all variants. */
static void print_constants(FILE *stream, const struct study *study)
{
    const struct bindings *parameters = report_parameters(study);
    bool *varying = report_varying(study);
    const char *separator = "<p class=\"muted\">All variants: <code>";
    for (size_t i = 0; i < parameters->count; i++) {
        char value[VALUE_TEXT_BYTES];
        if (varying[i])
            continue;
        fprintf(stream, "%s%s=", separator, parameters->items[i].name);
        html_text(stream, value_text(parameters->items[i].value, value));
        separator = " ";
    }
    if (separator[0] == ' ')
        fputs("</code></p>\n", stream);
    free(varying);
}

static void print_study(FILE *stream, const struct page *page, size_t index)
{
    const struct study *study = &page->studies[index];
    fprintf(stream, "<section id=\"s%zu\">\n<h2>", index);
    html_text(stream, study->kernel);
    fputs(study->problem.count > 0 ? ": " : "", stream);
    html_problem(stream, &study->problem);
    fputs("</h2>\n", stream);
    if (!same_gpu(page)) {
        print_facts(stream, study);
        if (html_roof_share(study, &page->roofs[index]) > 0)
            html_roofs(stream, study, &page->roofs[index]);
    }
    html_winner(stream, study, &page->roofs[index]);
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

void html_print(FILE *stream, const struct study *studies, size_t count, const struct study *record,
                size_t record_count)
{
    struct page page;
    page_init(&page, studies, count, record, record_count);
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
    html_script(stream);
    fputs("</body>\n</html>\n", stream);
    page_release(&page);
}
