/*
 * Prints comparisons as a table followed by what changed, as CSV with one line per comparison, or as
 * a JSON array. Does not close the stream.
 */
#ifndef AUTOTUNE_COMPARE_REPORT_H
#define AUTOTUNE_COMPARE_REPORT_H

#include "record/compare.h"

#include <stddef.h>
#include <stdio.h>

void compare_report_table(FILE *stream, const struct comparison *comparisons, size_t count);
void compare_report_csv(FILE *stream, const struct comparison *comparisons, size_t count);
void compare_report_json(FILE *stream, const struct comparison *comparisons, size_t count);

#endif
