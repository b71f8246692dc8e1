/*
 * Compares two sets of winners, A and B. For each kernel, problem and GPU in both: did the
 * configuration change, by how much do the times differ, and is that more than noise? These
 * functions only compute; command_compare.c reads the files and compare_report.c prints the result.
 *
 * The difference is the ratio of the medians, B / A, with an interval. If both sides have raw
 * samples, it is a 95 % two-sample bootstrap interval. Otherwise it comes from the ends of the two
 * 95 % intervals in the tuned INI, which makes it wider.
 *
 * The difference counts as more than noise if the whole interval is further from 1 than the timer's
 * resolution, and the estimate is further from 1 than that resolution plus the tie tolerance. The
 * finals of one run use the same rule (race.h). The tolerance covers what neither interval can
 * know: differences between runs, such as clocks, other processes and buffer addresses.
 */
#ifndef AUTOTUNE_COMPARE_H
#define AUTOTUNE_COMPARE_H

#include "base/statistics.h"
#include "record/tuned_file.h"

#include <stdbool.h>
#include <stddef.h>

#define COMPARE_TOLERANCE 0.005 /* the same as race_rules' tie_tolerance */

/* One winner. */
struct compare_item {
    struct tuned_entry entry;
    double *samples_ns; /* raw samples of the finals; NULL: not known */
    size_t sample_count;
};

struct compare_set {
    struct compare_item *items;
    size_t count;
};

void compare_set_release(struct compare_set *set);

/* B compared with A. X(NAME, name as printed) */
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
    COMPARE_TIED, /* they differ, but one side found them tied */
    COMPARE_DIFFERENT,
};

/* "same", "tied", "differs" */
const char *compare_configuration_name(enum compare_configuration configuration);

struct comparison {
    const struct compare_item *a, *b; /* borrowed; NULL: missing on that side */
    enum compare_status status;
    /* the rest is set only if both sides have it: */
    enum compare_configuration configuration;
    struct interval ratio; /* B's median / A's median */
    bool sampled;          /* the interval is from raw samples */
};

/* Compares each winner of A, in A's order, and then adds those that only B has. Free the array; it
 * borrows from both sets. */
struct comparison *compare_sets(const struct compare_set *a, const struct compare_set *b,
                                size_t *count);

/* The number of comparisons with `status`. */
size_t compare_count(const struct comparison *comparisons, size_t count,
                     enum compare_status status);

/* The changed parameters: "block_size 512 -> 256, load cached -> bulk"; "" if there are none. Free
 * the string. */
char *compare_difference(const struct comparison *comparison);

/* What else changed and may explain the difference: "cache cold -> warm, driver 13.0 -> 13.1, the
 * template changed"; "" if nothing did. Free the string. */
char *compare_circumstances(const struct comparison *comparison);

#endif
