/*
 * The formats of a report, for report.c only; each has its own file and is made of columns.h where it has columns.
 * They do not check the stream for errors; report.c does at the end. Each returns 0 or an error.
 *
 * To add a format: a name in report_format and in report.c's table, its function here and its file; and its name in
 * command/command.c, in the man page and in the completions.
 */
#ifndef AUTOTUNE_REPORT_FORMATS_H
#define AUTOTUNE_REPORT_FORMATS_H

#include "base/error.h"
#include "record/study.h"

#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>

enum { REPORT_TERMINAL_WIDTH = 120 };

struct report_options;

typedef int report_function(FILE *stream, const struct study *studies, size_t count,
                            const struct report_options *options, struct error *error);

report_function report_table;
report_function report_csv;
report_function report_json;

/*
 * Studies as a web page to send to a colleague: one file that needs no network, no other file and
 * no scripts (a small one makes the tables sortable), in the reader's light or dark colours, for
 * wide and narrow screens. A study's section has the winner in a sentence, charts, the importance
 * of each parameter, occupancy, failures, and every variant.
 */
report_function report_html;

/*
 * Studies in T4, the results format of the auto-tuning community: version 1.0.0 of the schema, as
 * Kernel Tuner has it (tests/t4/results-schema.json), with the `metadata` that
 * https://github.com/AutoTuningAssociation/autotuning_methodology added to it. All times are
 * milliseconds.
 *
 * A document is one study; several are printed one after the other, each on its own line. The times
 * for compiling and searching are not known per variant and are left out. Studies of static mode are
 * left out as well: T4 has no word for a variant that was not run.
 * ERROR_USAGE if no study was measured.
 */
report_function report_t4;

/* Members of JSON: one that is set (which fails only if memory runs out), and a number, or null if it is not finite. */
static inline void set(json_t *object, const char *name, json_t *value)
{
    (void)json_object_set_new(object, name, value);
}

static inline json_t *real_json(double real)
{
    return isfinite(real) ? json_real(real) : json_null();
}

/* What NVML saw, as JSON and T4 have it; null if it was not asked. */
json_t *report_conditions_json(const struct gpu_conditions *conditions);

#endif
