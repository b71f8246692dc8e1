#include "report/report_text.h"

#include "base/alloc.h"
#include "record/study.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
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

static bool varies(const struct study *study, size_t index)
{
    const struct binding *first = &report_parameters(study)->items[index];
    for (size_t i = 1; i < study->result_count; i++) {
        const struct value *value = bindings_find(&study->results[i].parameters, first->name);
        if (value == NULL || !value_equal(*value, first->value))
            return true;
    }
    return false;
}

bool *report_varying(const struct study *study)
{
    size_t count = report_parameters(study)->count;
    bool *varying = alloc_zeroed(count, sizeof *varying);
    for (size_t i = 0; i < count; i++)
        varying[i] = varies(study, i);
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

/* Makes one reason of equal neighbours; returns how many are left. */
static size_t merge_reasons(struct reason *reasons, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && strcmp(reasons[kept - 1].text, reasons[i].text) == 0) {
            reasons[kept - 1].count++;
            free(reasons[i].text);
        } else {
            reasons[kept++] = reasons[i];
        }
    }
    return kept;
}

struct reason *report_reasons(const struct study *study, enum outcome outcome, size_t *count)
{
    struct reason *reasons = NULL;
    *count = 0;
    for (size_t i = 0; i < study->result_count; i++)
        if (study->results[i].outcome == outcome)
            *ARRAY_APPEND(reasons, *count) = (struct reason){reason_line(&study->results[i]), 1};
    if (*count > 1) {
        qsort(reasons, *count, sizeof *reasons, compare_texts);
        *count = merge_reasons(reasons, *count);
        qsort(reasons, *count, sizeof *reasons, compare_reasons);
    }
    return reasons;
}

void report_reasons_free(struct reason *reasons, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(reasons[i].text);
    free(reasons);
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

void report_sampling(FILE *stream, const struct study *study, bool page)
{
    const struct gpu_conditions *seen = &study->conditions;
    print_batches(stream, study, page);
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

/* "1.2 % slower", "0.4 % faster", "as fast". */
static void print_ratio(FILE *stream, double ratio)
{
    char buffer[REPORT_NUMBER_BYTES];
    double percent = fabs(ratio - 1) * 100;
    if (percent < 0.05)
        fputs("as fast", stream);
    else
        fprintf(stream, "%s %% %s", report_fixed(percent, 1, buffer),
                ratio > 1 ? "slower" : "faster");
}

void report_gpu(FILE *stream, const struct study_gpu *gpu)
{
    char buffer[REPORT_NUMBER_BYTES];
    if (gpu->compared == 0) {
        fputs("not compared", stream);
    } else {
        print_ratio(stream, gpu->ratio);
        fprintf(stream, " (%zu variant%s compared", gpu->compared, gpu->compared == 1 ? "" : "s");
        if (gpu->compared > 1)
            fprintf(stream, ", each within %s %% of that",
                    report_fixed(gpu->spread * 100, 1, buffer));
        fputs(")", stream);
    }
    if (gpu->failed > 0)
        fprintf(stream, "; %zu variant%s FAILED THERE that passed elsewhere", gpu->failed,
                gpu->failed == 1 ? "" : "s");
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
