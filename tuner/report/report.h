/*
 * Studies as people and programs read them.
 */
#ifndef AUTOTUNE_REPORT_H
#define AUTOTUNE_REPORT_H

#include "base/error.h"
#include "record/study.h"

#include <stddef.h>
#include <stdio.h>

enum report_format { REPORT_TABLE, REPORT_CSV, REPORT_JSON, REPORT_HTML, REPORT_T4 };

/* "table", "csv", "json", "html", "t4"; -1 for anything else. */
int report_format_from_name(const char *name);

struct report_options {
    enum report_format format;
    size_t top;                 /* rows of a table; 0: 10 */
    const struct study *record; /* all studies, in which a page looks for measured roofs; NULL:
                                   those that are printed */
    size_t record_count;
};

/*
 * Prints studies. Returns 0, ERROR_RECORD if writing fails, or ERROR_USAGE if the format cannot
 * represent any of these studies (T4 in static mode).
 *
 * Table: per study a heading (kernel, problem, GPU, versions, cache state, empty kernel), the top
 * variants with time, interval, noise, GB/s, GFLOP/s, registers, spills, shared memory, blocks per
 * SM, occupancy and what limits it, and the parameters that vary; counts of outcomes; for each
 * failure, the reasons and how many variants share them; the winner, and who tied with it. In
 * static mode, where there are no times, variants are in order of occupancy, and studies of a
 * kernel that differ only in the problem are one table, whose heading names the problems. (The
 * other formats have every study: programs and links look them up by problem.)
 *
 * CSV (RFC 4180's quoting, lines that end in a newline): one line per variant, under one header if
 * all studies have the same columns, otherwise under one header per study. JSON: an array of
 * studies with their variants and raw samples. Both have every variant; unknown values are empty or
 * null.
 *
 * HTML: one page with all studies, T4: see report_formats.h for both.
 */
int report_print(FILE *stream, const struct study *studies, size_t count,
                 const struct report_options *options, struct error *error);

/*
 * Prints to files instead. If `path` is a folder, or ends in '/', each study gets a file of its own there, and what
 * folders it needs: <gpu>/<kernel>/<problem>.csv. HTML has one file per kernel, with all its problems:
 * <gpu>/<kernel>.html. Any other `path` is a single file with every study. Readers see the old file or the new one,
 * never a part.
 * `<gpu>` is the GPU's name in lower case with '-' for anything else ("nvidia-h200"), in static
 * mode "static-sm_90". `<problem>` is "n-1024-value_type-float", or "default" if the kernel has no
 * problem values. Kernel and problem names that are too long for a file name, or have characters
 * that it should not have, are shortened and end in a hash.
 */
int report_write(const char *path, const struct study *studies, size_t count,
                 const struct report_options *options, struct error *error);

/* Comparisons (record/compare.h): a table and what changed, CSV with one line per comparison, or a JSON array. */
struct comparison;
void compare_report_table(FILE *stream, const struct comparison *comparisons, size_t count);
void compare_report_csv(FILE *stream, const struct comparison *comparisons, size_t count);
void compare_report_json(FILE *stream, const struct comparison *comparisons, size_t count);

#endif
