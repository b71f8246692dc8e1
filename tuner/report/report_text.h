/*
 * What the reports that people read have in common: numbers as they are printed, which parameters
 * tell a study's variants apart, and the reasons of failures.
 */
#ifndef AUTOTUNE_REPORT_TEXT_H
#define AUTOTUNE_REPORT_TEXT_H

#include "record/study.h"

#include <stdbool.h>
#include <stddef.h>

#define REPORT_NUMBER_BYTES 64

/* `number` with that many decimals, and a point before them in every locale. Returns `buffer`. */
char *report_fixed(double number, int decimals, char buffer[REPORT_NUMBER_BYTES]);

/* Four significant digits, as far as they come before or behind the point; no exponent. Returns
 * `buffer`. */
char *report_number(double number, char buffer[REPORT_NUMBER_BYTES]);

/* The same, of nanoseconds in microseconds. */
char *report_time(double time_ns, char buffer[REPORT_NUMBER_BYTES]);

/* Whether no bytes are moved, and operations are so few, less than one a nanosecond in the fastest
 * variant, that the time of one says more than their rate: rounds of a barrier, say. */
bool report_few_operations(const struct study *study);

/* Names and order of the parameters: those of the first result, which all others share. */
const struct bindings *report_parameters(const struct study *study);

/* Of each parameter, whether its values differ; a new array. */
bool *report_varying(const struct study *study);

/* "block_size=512 num_load=8", what tells the variant from the others, or "the only variant"; a new
 * string. */
char *report_distinction(const struct study *study, const bool *varying,
                         const struct result *result);

/* "4x128 1x32": how many of the 8- or 16- ("16"), 32-, 64-, 128- and 256-bit instructions whose counts begin at
 * `counts` there are; "-" for none. Returns `buffer`. */
char *report_widths(const size_t *counts, char buffer[REPORT_NUMBER_BYTES]);

/* Why variants failed: the first line of the reason, cut, and how many share it. */
struct reason {
    char *text;
    size_t count;
};

/* The reasons of an outcome, the most frequent first; a new array of new texts. */
struct reason *report_reasons(const struct study *study, enum outcome outcome, size_t *count);
void report_reasons_free(struct reason *reasons, size_t count);

#endif
