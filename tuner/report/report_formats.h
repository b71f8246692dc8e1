/*
 * The formats of a report, for report.c only; each has its own file. They do not check the stream
 * for errors; report.c does at the end.
 *
 * To add a format: a name in report_format and in report.c's table, its function here and its file
 * (html.h and t4.h have headers of their own), made of columns.h where it has columns; and its name in command/command.c, in the man page
 * and in the completions.
 */
#ifndef AUTOTUNE_REPORT_FORMATS_H
#define AUTOTUNE_REPORT_FORMATS_H

#include "record/study.h"

#include <stddef.h>
#include <stdio.h>

enum { REPORT_TERMINAL_WIDTH = 120 };

void report_table(FILE *stream, const struct study *studies, size_t count, size_t top);
void report_csv(FILE *stream, const struct study *studies, size_t count);
void report_json(FILE *stream, const struct study *studies, size_t count);

#endif
