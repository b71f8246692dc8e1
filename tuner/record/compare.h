/*
 * What changed between two sets of winners, A and B: for each kernel, problem and GPU in both,
 * which configuration each chose, by how much the times differ, and whether that is more than
 * noise. Pure: it decides by what it is given; command_compare.c reads and compare_report.c prints.
 *
 * The difference is the ratio of the medians, B's over A's, with an interval: a two-sample
 * bootstrap of 95 % where both have raw samples, else the ratios of the ends of the two 95 %
 * intervals that a tuned INI keeps (wider than a 95 % interval of the ratio). It is outside the
 * noise when the interval leaves out 1 by more than the timer's step, and the estimate differs from
 * 1 by more than that and the tolerance of a tie: the rule by which the finals of one run part
 * their contenders (race.h). Neither interval knows what differs from run to run (clocks, the
 * neighbours, where buffers lie): the tolerance stands for it.
 */
#ifndef AUTOTUNE_COMPARE_H
#define AUTOTUNE_COMPARE_H

#include "base/statistics.h"
#include "record/tuned_file.h"

#include <stdbool.h>
#include <stddef.h>

#define COMPARE_TOLERANCE 0.005 /* as race_rules' tie_tolerance */

/* One winner. */
struct compare_item {
    struct tuned_entry entry;
    double *samples_ns; /* the raw ones of the finals; NULL where they are not known */
    size_t sample_count;
};

struct compare_set {
    struct compare_item *items;
    size_t count;
};

void compare_set_release(struct compare_set *set);

/* X(NAME, name as printed): what B is to A */
#define COMPARE_STATUSES(X)                                                                        \
    X(SAME, "within noise")                                                                        \
    X(FASTER, "faster")                                                                            \
    X(SLOWER, "slower")                                                                            \
    X(ONLY_A, "only in A")                                                                         \
    X(ONLY_B, "only in B")

enum compare_status {
#define X(name, text) COMPARE_##name,
    COMPARE_STATUSES(X)
#undef X
        COMPARE_STATUS_COUNT
};

const char *compare_status_name(enum compare_status status);

enum compare_configuration {
    COMPARE_EQUAL,
    COMPARE_TIED, /* they differ, but one side counts both among its tie set */
    COMPARE_DIFFERENT,
};

/* "same", "tied", "differs" */
const char *compare_configuration_name(enum compare_configuration configuration);

struct comparison {
    const struct compare_item *a, *b; /* borrowed; NULL on the side that has none */
    enum compare_status status;
    /* of those in both: */
    enum compare_configuration configuration;
    struct interval ratio; /* B's median over A's */
    bool sampled;          /* the interval is from raw samples */
};

/* One comparison for each winner of A, in A's order, and one for each that only B has; a new array
 * that borrows from both sets. */
struct comparison *compare_sets(const struct compare_set *a, const struct compare_set *b,
                                size_t *count);

/* How many of them have `status`. */
size_t compare_count(const struct comparison *comparisons, size_t count,
                     enum compare_status status);

/* "block_size 512 -> 256, load cached -> bulk"; "" where the configurations are equal; a new
 * string. */
char *compare_difference(const struct comparison *comparison);

/* What else differs and may be why: "cache cold -> warm, driver 13.0 -> 13.1, the template
 * changed"; "" where nothing does; a new string. */
char *compare_circumstances(const struct comparison *comparison);

#endif
