/*
 * A rule that decides among configurations: lines that are tried in order, each with comparisons of
 * a feature with a threshold, or with another feature. The last line has none, so some line always
 * decides.
 *
 * A feature is a figure of a size, such as n, m * n, or the waves that a configuration's launch
 * takes there. A feature may also be an estimate of how long a configuration takes; these are
 * compared with each other.
 */
#ifndef AUTOTUNE_RULE_H
#define AUTOTUNE_RULE_H

#include "cover/losses.h"

#include <stdbool.h>
#include <stddef.h>

enum { RULE_TESTS = 15, RULE_LINES = 16 };

#define FEATURE_OF_ALL ((size_t)-1)

struct feature {
    char *text;           /* as the rule states it */
    double *values;       /* at each size */
    bool whole;           /* all values are whole numbers, so thresholds are, too */
    size_t configuration; /* whose launch it describes; FEATURE_OF_ALL: any */
    bool estimate;        /* of the configuration's time, in nanoseconds */
};

struct features {
    struct feature *items;
    size_t count;
};

/* Adds a feature whose `sizes` values are to be filled in; `text` is copied. */
struct feature *features_add(struct features *features, const char *text, size_t sizes);
void features_release(struct features *features);

struct rule_test {
    size_t feature;
    bool below; /* holds below the threshold; otherwise from it on */
    double threshold;
    bool against; /* holds up to the value of feature `other`; there is no threshold */
    size_t other;
};

struct rule_line {
    struct rule_test tests[RULE_TESTS];
    size_t test_count;
    size_t configuration;
};

struct rule {
    struct rule_line lines[RULE_LINES];
    size_t count;
};

/* The configuration that the rule chooses at a size. */
size_t rule_decide(const struct rule *rule, const struct features *features, size_t size);

bool rule_line_holds(const struct rule_line *line, const struct features *features, size_t size);

/* What the rule's choices lose. */
struct loss rule_loss(const struct rule *rule, const struct losses *losses,
                      const struct features *features);

#endif
