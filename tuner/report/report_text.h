/*
 * What the readable reports share: how numbers are printed, which parameters distinguish the
 * variants of a study, and the reasons of failures.
 */
#ifndef AUTOTUNE_REPORT_TEXT_H
#define AUTOTUNE_REPORT_TEXT_H

#include "record/study.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define REPORT_NUMBER_BYTES 64

/* `number` with `decimals` decimals and a decimal point in every locale. Returns `buffer`. */
char *report_fixed(double number, int decimals, char buffer[REPORT_NUMBER_BYTES]);

/* `number` with at least four significant digits and no exponent. Returns `buffer`. */
char *report_number(double number, char buffer[REPORT_NUMBER_BYTES]);

/* The same for nanoseconds, printed in microseconds. */
char *report_time(double time_ns, char buffer[REPORT_NUMBER_BYTES]);

/* "7.8 %", the share of the space's variants that were tried; "about 0.00012 %" if the space is only
 * estimated. Returns `buffer`. */
char *report_seen(const struct study *study, char buffer[REPORT_NUMBER_BYTES]);

/* "the fastest is probably within 3 % of the best of the space (90 % confidence: 143 variants without
 * improvement)", or that it is too early to say; a new string. Of a study that is partial. */
char *report_estimate(const struct study *study);

/* Whether the time per operation says more than the rate, as for rounds of a barrier: no bytes are
 * moved, and the fastest variant does less than one operation per nanosecond. */
bool report_few_operations(const struct study *study);

/* The parameters of the first result; all results have the same names in the same order. */
const struct bindings *report_parameters(const struct study *study);

/* For each parameter, whether its values differ; a new array. */
bool *report_varying(const struct study *study);

/* "block_size=512 num_load=8", the parameters that distinguish the variant from the others, or "the
 * only variant"; a new string. */
char *report_distinction(const struct study *study, const bool *varying,
                         const struct result *result);

/* The parameters with one value in all variants, likewise; "" if there are none. A new string. */
char *report_constants(const struct study *study, const bool *varying, const char *separator);

/* ": 3 measured, 1 timeout": how many variants had each outcome. */
void report_outcomes(FILE *stream, const struct study *study);

/* Why variants failed: the first line of the reason, cut if too long, and how many share it. */
struct reason {
    char *text;
    size_t count;
};

/* The reasons of an outcome, the most frequent first; a new array of new texts. */
struct reason *report_reasons(const struct study *study, enum outcome outcome, size_t *count);
void report_reasons_free(struct reason *reasons, size_t count);

/* How the samples were taken, if it is known: in batches, on which GPUs and data, and what NVML saw. On a page, the
 * sentences end in blanks; in a table, in new lines. */
void report_sampling(FILE *stream, const struct study *study, bool page);

/* In HTML and SVG: prints `text` as the content of an element or a quoted attribute; nothing for NULL. Markup is
 * escaped, and control characters, which XML forbids, become spaces. */
void html_text(FILE *stream, const char *text);

/* printf() for markup with such texts: "<code>%s</code>", "%%", and nothing else. */
void html_print(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A page's <style> element; the pages of covers have it, too. */
void html_style(FILE *stream);

/* What html_tables.c prints: tables with their headings; nothing if the study has no data for them. */
struct importance;
void html_importance(FILE *stream, const struct study *study, const struct importance *importance);
void html_headroom(FILE *stream, const struct study *study);
void html_failures(FILE *stream, const struct study *study);
void html_variants(FILE *stream, const struct study *study);

#endif
