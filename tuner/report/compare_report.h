/*
 * Comparisons as people and programs read them: a table with what changed beneath it, CSV with a
 * line a comparison, or a JSON array. Prints to a stream it does not close.
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
