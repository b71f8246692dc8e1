/*
 * The formats of a report, for report.c alone; each has a file of its own. They print without
 * looking at the stream's state, which report.c does at the end.
 *
 * To add a format: a name in report_format and in report.c's table, its function here and its file.
 */
#ifndef AUTOTUNE_REPORT_FORMATS_H
#define AUTOTUNE_REPORT_FORMATS_H

#include "study.h"

#include <stddef.h>
#include <stdio.h>

void report_table(FILE *stream, const struct study *studies, size_t count, size_t top);
void report_csv(FILE *stream, const struct study *studies, size_t count, size_t top);
void report_json(FILE *stream, const struct study *studies, size_t count, size_t top);

#endif
