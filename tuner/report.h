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
    size_t top; /* rows of a table; 0: 10 where something was measured, all in static mode */
};

/*
 * Prints studies.
 *
 * Table: per study a heading (kernel, problem, GPU, versions, cache state, empty kernel), the top
 * variants with time, interval, noise, GB/s, GFLOP/s, registers, spills, shared memory, blocks per
 * SM, occupancy and what limits it, and the parameters that vary; counts of outcomes; of each
 * failure the reasons with how many share them; the winner, and who tied with it. In static mode,
 * where there are no times, every variant in order of occupancy.
 *
 * CSV (RFC 4180's quoting, lines that end in a newline): a line a variant, under one header when
 * all studies share their columns, else one per study. JSON: an array of studies with their
 * variants and raw samples. Both have every variant and leave empty, or null, what is not known.
 */
int report_print(FILE *stream, const struct study *studies, size_t count,
                 const struct report_options *options, struct error *error);

/*
 * Writes FOLDER/<gpu>/<kernel>[-<problem>].csv for the study, beside and renamed; makes the
 * folders.
 * `<gpu>` is the GPU's name in lower case with '-' for anything else ("nvidia-h200"), in static
 * mode "static-sm_90"; `<problem>` is "n-1024-value_type-float".
 */
int report_write_csv(const char *folder, const struct study *study, struct error *error);

#endif
