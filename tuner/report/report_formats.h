/*
 * The formats of a report, for report.c only; each has its own file. They do not check the stream
 * for errors; report.c does at the end.
 *
 * To add a format: a name in report_format and in report.c's table, its function here and its file
 * (html.h and t4.h have headers of their own); and its name in command/command.c, in the man page
 * and in the completions.
 */
#ifndef AUTOTUNE_REPORT_FORMATS_H
#define AUTOTUNE_REPORT_FORMATS_H

#include "record/study.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { REPORT_TERMINAL_WIDTH = 120 };

void report_table(FILE *stream, const struct study *studies, size_t count, size_t top);
void report_csv(FILE *stream, const struct study *studies, size_t count);
void report_json(FILE *stream, const struct study *studies, size_t count);

/* Whether a table shows the same for two studies of static mode, except the problem. */
bool report_same_figures(const struct study *a, const struct study *b);

/* The head of a table that stands for a group of `count` studies with the same figures: the kernel,
 * the problems, and how they were measured. */
void report_heading(FILE *stream, const struct study *const *group, size_t count);

/*
 * Sections of the table, each with its heading; they print nothing if there is nothing to say.
 *
 * Headroom: the variants among the first `count` of `ranking` that are below 100 % occupancy, and
 * the occupancy with one step less of registers, shared memory or threads per block.
 * Importance: how much each parameter matters, and the best result at each of its values.
 */
void report_headroom(FILE *stream, const struct study *study, const size_t *ranking, size_t count);
void report_importance(FILE *stream, const struct study *study);

#endif
