/*
 * What reports say of a variant, a line for each column: its names in CSV, JSON, tables and pages, and what its
 * values are. All four formats are made of this table. CSV and JSON have every column that has a name there, in
 * this order; tables and pages choose theirs.
 *
 * To add one: a line here, among its kind (the kernel's figures and what was measured stand together), and its value
 * in columns.c.
 */
#ifndef AUTOTUNE_COLUMNS_H
#define AUTOTUNE_COLUMNS_H

#include "record/gpu.h"
#include "record/study.h"
#include "report/report_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum column_kind {
    COLUMN_INTEGER,
    COLUMN_REAL,
    COLUMN_TIME,     /* nanoseconds; microseconds in all formats but JSON */
    COLUMN_INTERVAL, /* of times */
    COLUMN_SHARE,    /* 0 to 1; per cent in tables and pages */
    COLUMN_RATE,     /* per nanosecond */
    COLUMN_TEXT,
    COLUMN_FLAG,
};

/* X(column, kind, CSV, object of JSON ("" for the variant's own), JSON, table, page); NULL: not there. */
#define COLUMNS(X)                                                                                 \
    X(mark, TEXT, NULL, NULL, NULL, "", "")                                                        \
    X(outcome, TEXT, "outcome", "", "outcome", "outcome", "outcome")                               \
    X(reason, TEXT, "reason", "", "reason", NULL, "reason")                                        \
    X(registers, INTEGER, "registers", "figures", "registers", "regs", "registers")                \
    X(spill_bytes, INTEGER, "spill_bytes", "figures", "spill_bytes", "spill B", "spills, B")       \
    X(stack_bytes, INTEGER, "stack_bytes", "figures", "stack_bytes", NULL, NULL)                   \
    X(static_shared_bytes, INTEGER, "static_shared_bytes", "figures", "static_shared_bytes", NULL, \
      NULL)                                                                                        \
    X(dynamic_shared_bytes, INTEGER, "dynamic_shared_bytes", "figures", "dynamic_shared_bytes",    \
      NULL, NULL)                                                                                  \
    X(shared_bytes, INTEGER, NULL, NULL, NULL, "shared B", "shared, B")                            \
    X(block_threads, INTEGER, "block_threads", "figures", "block_threads", "threads /block",       \
      "threads per block")                                                                         \
    X(grid_blocks, INTEGER, "grid_blocks", "figures", "grid_blocks", NULL, NULL)                   \
    X(blocks_per_sm, INTEGER, "blocks_per_sm", "figures", "blocks_per_sm", "blocks /SM",           \
      "blocks/SM")                                                                                 \
    X(occupancy, SHARE, "occupancy", "figures", "occupancy", "occ. %", "occupancy, %")             \
    X(limiter, TEXT, "limiter", NULL, NULL, "limited by", "limited by")                            \
    X(other_launches, TEXT, "other_launches", "", "other_launches", NULL, "other launches")        \
    X(median, TIME, "median_us", "time", "median_ns", "time us", "time, µs")                       \
    X(low, TIME, "low_us", "time", "low_ns", NULL, NULL)                                           \
    X(high, TIME, "high_us", "time", "high_ns", NULL, NULL)                                        \
    X(minimum, TIME, NULL, "time", "minimum_ns", NULL, NULL)                                       \
    X(interval, INTERVAL, NULL, NULL, NULL, "95 % interval", "95 % interval")                      \
    X(noise, SHARE, "relative_iqr", "time", "relative_iqr", "noise %", "noise, %")                 \
    X(samples, INTEGER, "samples", "time", "samples", NULL, NULL)                                  \
    X(runs, INTEGER, "runs", "", "runs", NULL, NULL)                                               \
    X(bytes, REAL, NULL, "", "bytes", NULL, NULL)                                                  \
    X(operations, REAL, NULL, "", "operations", NULL, NULL)                                        \
    X(gb_per_s, RATE, "gb_per_s", NULL, NULL, "GB/s", "GB/s")                                      \
    X(gflop_per_s, RATE, "gflop_per_s", NULL, NULL, "GFLOP/s", "GFLOP/s")                          \
    X(ns_per_operation, RATE, NULL, NULL, NULL, "ns /op", "ns/operation")                          \
    X(finalist, FLAG, "finalist", "", "finalist", NULL, NULL)                                      \
    X(tied, FLAG, "tied", "", "tied", NULL, NULL)                                                  \
    X(winner, FLAG, "winner", NULL, NULL, NULL, NULL)                                              \
    X(empty, TIME, "empty_us", NULL, NULL, NULL, NULL)                                             \
    X(sm_clock, REAL, "sm_clock_mhz", NULL, NULL, NULL, NULL)                                      \
    X(dropped_samples, INTEGER, "dropped_samples", NULL, NULL, NULL, NULL)                         \
    X(throttled_samples, INTEGER, "throttled_samples", NULL, NULL, NULL, NULL)                     \
    X(other_processes, INTEGER, "other_processes", NULL, NULL, NULL, NULL)                         \
    X(gpu, TEXT, "gpu_uuid", "", "gpu", NULL, NULL)                                                \
    X(tool, TEXT, "tool", NULL, NULL, NULL, NULL)                                                  \
    X(seen, REAL, NULL, "", "seen_s", NULL, NULL)

enum column {
#define X(column, ...) COLUMN_##column,
    COLUMNS(X)
#undef X
        COLUMN_COUNT,
    COLUMN_PARAMETERS =
        COLUMN_COUNT, /* the first parameter, and so on; in a list to choose from: all that vary */
};

struct column_rule {
    enum column_kind kind;
    const char *csv;
    const char *object;
    const char *json;
    const char *table;
    const char *page;
};

extern const struct column_rule column_rules[COLUMN_COUNT];

/* Those of the tables of what limits the occupancy. */
enum { HEADROOM_COLUMNS = 6 };
extern const enum column headroom_columns[HEADROOM_COLUMNS];

struct column_value {
    int64_t integer;
    double real;
    const char *text; /* lives as long as the study and this value */
    char buffer[OCCUPANCY_LIMITER_BYTES];
};

/* The member of `*value` for the column's kind; false if it is not known. `result` is one of the study's. */
bool column_value(enum column column, const struct study *study, const struct result *result,
                  struct column_value *value);

/* In tables and pages: a column's heading, whether it is of text, and the value as people read it: NULL if that is not
 * known, otherwise `buffer` or a text of the study. */
const char *column_heading(enum column column, const struct study *study, bool page);
bool column_is_text(enum column column, const struct study *study);
enum { COLUMN_TEXT_BYTES = 2 * REPORT_NUMBER_BYTES + VALUE_TEXT_BYTES };
const char *column_text(enum column column, const struct study *study, const struct result *result,
                        char buffer[COLUMN_TEXT_BYTES]);

/* Those of `columns` that the readable reports need for these results of the study, `*chosen_count` of them, a new
 * array: none of times in static mode, no rate if the template does not state the work, no spills if there are none,
 * no outcomes and reasons if nothing failed; of the parameters those that are `varying`. */
enum column *columns_choose(const struct study *study, const bool *varying, const size_t *indices,
                            size_t result_count, const enum column *columns, size_t count,
                            size_t *chosen_count);

#endif
