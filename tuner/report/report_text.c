#include "report/report_text.h"

#include "base/alloc.h"
#include "record/study.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REASON_BYTES = 100 };

char *report_fixed(double number, int decimals, char buffer[REPORT_NUMBER_BYTES])
{
    (void)snprintf(buffer, REPORT_NUMBER_BYTES, "%.*f", decimals, number);
    const char *point = localeconv()->decimal_point;
    char *found = strstr(buffer, point);
    if (found != NULL) {
        char *behind = found + strlen(point);
        *found = '.';
        memmove(found + 1, behind, strlen(behind) + 1);
    }
    return buffer;
}

char *report_number(double number, char buffer[REPORT_NUMBER_BYTES])
{
    int decimals = number < 1 ? 4 : number < 10 ? 3 : number < 100 ? 2 : number < 1000 ? 1 : 0;
    return report_fixed(number, decimals, buffer);
}

char *report_time(double time_ns, char buffer[REPORT_NUMBER_BYTES])
{
    return report_number(time_ns / 1000, buffer);
}

char *report_seen(const struct study *study, char buffer[REPORT_NUMBER_BYTES])
{
    double space = (double)study_space(study);
    double percent = space > 0 ? 100 * (double)study->result_count / space : 0;
    int decimals = percent > 0 && percent < 1 ? 1 - (int)fmax(floor(log10(percent)), -8) : 1;
    char number[REPORT_NUMBER_BYTES];
    (void)snprintf(buffer, REPORT_NUMBER_BYTES, "%s%.20s %%",
                   study->rejected_estimated ? "about " : "",
                   report_fixed(percent, decimals, number));
    return buffer;
}

char *report_estimate(const struct study *study)
{
    size_t in_vain;
    double within = study_estimate(study, &in_vain);
    if (isnan(within))
        return alloc_format(
            "it is too early to say how near the fastest is to the best of the space "
            "(%zu variants without improvement)",
            in_vain);
    return alloc_format("the fastest is probably within %.0f %% of the best of the space (90 %% "
                        "confidence: %zu variants without improvement)",
                        100 * within, in_vain);
}

bool report_few_operations(const struct study *study)
{
    bool any = false;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        if (result->operations <= 0 || result->time.median_ns <= 0)
            continue;
        if (result->bytes > 0 || result->operations >= result->time.median_ns)
            return false;
        any = true;
    }
    return any;
}

const struct bindings *report_parameters(const struct study *study)
{
    static const struct bindings none = {0};
    return study->result_count > 0 ? &study->results[0].parameters : &none;
}

bool *report_varying(const struct study *study)
{
    const struct bindings *names = report_parameters(study);
    bool *varying = alloc_zeroed(names->count, sizeof *varying);
    for (size_t i = 0; i < names->count; i++)
        for (size_t j = 1; j < study->result_count && !varying[i]; j++) {
            const struct value *value =
                bindings_find(&study->results[j].parameters, names->items[i].name);
            varying[i] = value == NULL || !value_equal(*value, names->items[i].value);
        }
    return varying;
}

char *report_distinction(const struct study *study, const bool *varying,
                         const struct result *result)
{
    struct bindings distinct = {0};
    const struct bindings *names = report_parameters(study);
    for (size_t i = 0; i < names->count; i++) {
        const struct value *value = bindings_find(&result->parameters, names->items[i].name);
        if (varying[i] && value != NULL)
            bindings_set(&distinct, names->items[i].name, *value);
    }
    char *text = distinct.count > 0 ? bindings_text(&distinct) : alloc_string("the only variant");
    bindings_release(&distinct);
    return text;
}

char *report_constants(const struct study *study, const bool *varying, const char *separator)
{
    const struct bindings *parameters = report_parameters(study);
    char *text = alloc_string("");
    for (size_t i = 0; i < parameters->count; i++) {
        char value[VALUE_TEXT_BYTES];
        if (!varying[i])
            alloc_append(&text, "%s%s=%s", text[0] != '\0' ? separator : "",
                         parameters->items[i].name, value_text(parameters->items[i].value, value));
    }
    return text;
}

void report_outcomes(FILE *stream, const struct study *study)
{
    const char *separator = ": ";
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        size_t count = study_count(study, (enum outcome)i);
        if (count == 0)
            continue;
        fprintf(stream, "%s%zu %s", separator, count, outcome_name((enum outcome)i));
        separator = ", ";
    }
}

/* The first line of a reason, cut between characters if too long; a new string. */
static char *reason_line(const struct result *result)
{
    const char *reason = result->reason;
    if (result->outcome == OUTCOME_DUPLICATE)
        return alloc_string("run as another variant, which --format csv names");
    if (reason == NULL || reason[0] == '\0')
        return alloc_string("no reason given");
    size_t length = strcspn(reason, "\r\n");
    if (length <= REASON_BYTES)
        return alloc_string_n(reason, length);
    length = REASON_BYTES;
    while (length > 0 && ((unsigned char)reason[length] & 0xc0) == 0x80)
        length--;
    return alloc_format("%.*s...", (int)length, reason);
}

static int compare_reasons(const void *left, const void *right)
{
    const struct reason *a = left;
    const struct reason *b = right;
    int order = (a->count < b->count) - (a->count > b->count);
    return order != 0 ? order : strcmp(a->text, b->text);
}

static int compare_texts(const void *left, const void *right)
{
    return strcmp(((const struct reason *)left)->text, ((const struct reason *)right)->text);
}

struct reason *report_reasons(const struct study *study, enum outcome outcome, size_t *count)
{
    struct reason *reasons = NULL;
    size_t all = 0;
    *count = 0;
    for (size_t i = 0; i < study->result_count; i++)
        if (study->results[i].outcome == outcome)
            *ARRAY_APPEND(reasons, all) = (struct reason){reason_line(&study->results[i]), 1};
    if (all > 0)
        qsort(reasons, all, sizeof *reasons, compare_texts);
    for (size_t i = 0; i < all; i++) {
        if (*count > 0 && strcmp(reasons[*count - 1].text, reasons[i].text) == 0) {
            reasons[*count - 1].count++;
            free(reasons[i].text);
        } else {
            reasons[(*count)++] = reasons[i];
        }
    }
    if (*count > 0)
        qsort(reasons, *count, sizeof *reasons, compare_reasons);
    return reasons;
}

void report_reasons_free(struct reason *reasons, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(reasons[i].text);
    free(reasons);
}

/* "1.2 % slower (5 variants compared, each within 0.4 % of that)": of a study that had several, not the first. */
static void print_gpu(FILE *stream, const struct study_gpu *gpu)
{
    char buffer[REPORT_NUMBER_BYTES];
    double percent = fabs(gpu->ratio - 1) * 100;
    if (gpu->compared == 0)
        fputs("not compared", stream);
    else if (percent < 0.05)
        fputs("as fast", stream);
    else
        fprintf(stream, "%s %% %s", report_fixed(percent, 1, buffer),
                gpu->ratio > 1 ? "slower" : "faster");
    if (gpu->compared > 0)
        fprintf(stream, " (%zu variant%s compared", gpu->compared, gpu->compared == 1 ? "" : "s");
    if (gpu->compared > 1)
        fprintf(stream, ", each within %s %% of that", report_fixed(gpu->spread * 100, 1, buffer));
    if (gpu->compared > 0)
        fputs(")", stream);
    if (gpu->failed > 0)
        fprintf(stream, "; %zu variant%s FAILED THERE that passed elsewhere", gpu->failed,
                gpu->failed == 1 ? "" : "s");
}

static void print_batches(FILE *stream, const struct study *study, bool page)
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
    fprintf(stream, "; in a batch, an empty kernel takes %s %s.%c",
            report_time(study->empty_batch_ns, number), page ? "µs" : "us", page ? ' ' : '\n');
}

/* What NVML saw. */
static void print_conditions(FILE *stream, const struct study *study, bool page)
{
    const struct gpu_conditions *seen = &study->conditions;
    if (!seen->known)
        return;
    fprintf(stream, "The mean SM clock was %.0f MHz. ", seen->sm_clock_mhz);
    if (seen->dropped_samples == 0 && seen->throttled_samples == 0)
        fputs("No throttling was detected. ", stream);
    else
        fprintf(stream,
                "Of the samples taken while the GPU was throttled, %" PRIu64
                " were replaced and %" PRIu64 " kept. ",
                seen->dropped_samples, seen->throttled_samples);
    if (seen->other_processes == 0)
        fputs("No other process used the GPU.", stream);
    else
        fprintf(stream, "%s%d other process%s used the GPU.%s", page ? "<strong>" : "",
                seen->other_processes, seen->other_processes == 1 ? "" : "es",
                page ? "</strong>" : "");
    fputc(page ? ' ' : '\n', stream);
}

void report_sampling(FILE *stream, const struct study *study, bool page)
{
    print_batches(stream, study, page);
    print_conditions(stream, study, page);
    if (study->gpu_count > 1)
        fprintf(stream,
                page ? "The variants were screened on %zu GPUs, and the finals held on %s. "
                     : "screened on %zu GPUs; finals on %s\n",
                study->gpu_count, study->gpus[0].uuid);
    for (size_t i = 1; i < study->gpu_count; i++) { /* as they compare with the first one */
        fprintf(stream, "%s%s: ", page ? "" : "  ", study->gpus[i].uuid);
        print_gpu(stream, &study->gpus[i]);
        fputs(page ? ". " : "\n", stream);
    }
    if (study->one_data_set)
        fprintf(stream,
                "%sverified on one data set: no fill is random, an expected result is a file, or "
                "data of other random numbers could not be made%s",
                page ? "The variants were " : "", page ? ". " : "\n");
}

void html_text(FILE *stream, const char *text)
{
    for (; text != NULL && *text != '\0'; text++) {
        unsigned char letter = (unsigned char)*text;
        if (strchr("<>&\"'", *text) != NULL)
            fprintf(stream, "&#%d;", *text);
        else
            fputc(letter < ' ' && strchr("\n\t", *text) == NULL ? ' ' : letter, stream);
    }
}

void html_print(FILE *stream, const char *format, ...)
{
    va_list texts;
    va_start(texts, format);
    for (; *format != '\0'; format++) {
        if (*format == '%' && *++format == 's')
            html_text(stream, va_arg(texts, const char *));
        else
            fputc(*format, stream);
    }
    va_end(texts);
}
