/*
 * Studies as people and programs read them. Prints to a stream it does not close; returns 0 or
 * ERROR_RECORD where writing fails.
 */
#ifndef AUTOTUNE_REPORT_H
#define AUTOTUNE_REPORT_H

#include "error.h"
#include "study.h"

#include <stddef.h>
#include <stdio.h>

enum report_format { REPORT_TABLE, REPORT_CSV, REPORT_JSON };

/* "table", "csv", "json"; -1 for anything else. */
int report_format_from_name(const char *name);

struct report_options {
    enum report_format format;
    size_t top;    /* rows of a table; 0: 10 where something was measured, all in static mode */
};

/*
 * Prints studies. Table: per study a heading (kernel, problem, GPU, versions, cache state, empty kernel), the top
 * variants with time, interval, noise, GB/s, GFLOP/s, registers, spills, shared memory, blocks per SM, occupancy and
 * what limits it, and parameters; outcome counts; for failures the reasons with how many share each; winner or ties in a sentence. CSV and JSON: every
 * variant, no derived text; the CSV has one header line when all studies share their parameters, else one per study.
 */
int report_print(FILE *stream, const struct study *studies, size_t count,
                 const struct report_options *options, struct error *error);

/*
 * Writes FOLDER/<gpu>/<kernel>[-<problem>].csv for the study, beside and renamed; makes the folders.
 * `<gpu>` is the GPU's name in lower case with '-' for anything else ("nvidia-h200"; static mode
 * "static-sm_90").
 */
int report_write_csv(const char *folder, const struct study *study, struct error *error);

#endif
