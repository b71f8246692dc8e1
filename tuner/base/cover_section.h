/*
 * The lines of a cover in the tuned INI, as base/tuned_reader.h reads them, and the rule that is
 * compiled from them. FORMATS.md specifies both. Configurations, lines and sizes are counted from 0
 * here.
 *
 *     cover_section_clear(section);
 *     cover_section_fix(section, ini, "value_type", "float", &literal);   (problem.NAME)
 *     cover_section_add(section, ini, "range.n", "1 .. 1024");            (each line in turn)
 *     cover_section_finish(section, ini);
 *     inside = cover_rule_decide(&section->rule, values, &line);
 *
 * libtuned contains this module: it never aborts or prints, and only cover_section_new() allocates.
 */
#ifndef AUTOTUNE_COVER_SECTION_H
#define AUTOTUNE_COVER_SECTION_H

#include "base/decision.h"
#include "base/decision_code.h"
#include "base/ini_reader.h"
#include "base/literal.h"

#include <autotune/tuned.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    COVER_VERSION = 1,
    COVER_CONFIGURATIONS = 32,
    COVER_FIGURES = 128,
    COVER_LINES = 32,
    COVER_SIZES = 256,
    COVER_STEPS = 4096,       /* of all lines */
    COVER_TEXT_BYTES = 65536, /* names and values */
    COVER_VALUES = TUNED_PROBLEM_VALUES + 1
};

struct cover_value {
    const char *name, *text;
    struct literal value;
};

struct cover_interval {
    const char *name, *low_text, *high_text;
    struct literal low, high;
};

struct cover_variant {
    struct cover_value parameters[TUNED_PARAMETERS];
    size_t count;
    int registers, blocks_per_sm; /* 0: not known */
};

/* `text` is the whole value; `line` is 0 if it was not read. */
struct cover_text {
    const char *name, *text;
    int line;
};

struct cover_rule_text {
    const char *text;      /* "2 if waves < 1.5" */
    const char *condition; /* "waves < 1.5"; NULL: always */
    size_t configuration;
    int line;
};

struct cover_measured {
    struct literal numbers[TUNED_PROBLEM_VALUES]; /* one for each range */
    size_t fastest;
    double median_ns, loss_percent;
};

/* An expression. */
struct cover_part {
    size_t first, count; /* of the steps; count 0: always true */
    struct decision_code_part code;
};

/*
 * A compiled rule. Its values are one for each range, in order, followed by sm_count.
 */
struct cover_rule {
    struct decision_code code;
    size_t range_count;
    const double *lows, *highs;
    struct cover_part constraint;
    const struct cover_part *lines;
    size_t line_count;
    const struct cover_part *allowed; /* of each configuration: "allowed > 0" */
    size_t allowed_count;             /* 0: the cover does not have it */
};

struct cover_section {
    struct cover_value fixed[TUNED_PROBLEM_VALUES];
    size_t fixed_count;
    struct cover_interval ranges[TUNED_PROBLEM_VALUES];
    size_t range_count;
    struct cover_text constraint; /* text NULL: none */
    struct cover_variant configurations[COVER_CONFIGURATIONS];
    size_t configuration_count;
    struct cover_text figures[COVER_FIGURES];
    size_t figure_count;
    struct cover_rule_text lines[COVER_LINES];
    size_t line_count;
    struct cover_measured sizes[COVER_SIZES];
    size_t size_count;
    double mean_loss_percent, worst_loss_percent;
    int64_t held_out_sizes;

    /* of cover_section_finish() */
    struct cover_rule rule; /* points into the section */
    struct decision_step steps[COVER_STEPS];
    struct decision_program program; /* in `steps`; its count is that of the rule */
    struct decision_instruction instructions[COVER_STEPS];
    double constants[COVER_STEPS];

    /* private */
    struct decision_draft drafts[COVER_STEPS];
    double lows[TUNED_PROBLEM_VALUES], highs[TUNED_PROBLEM_VALUES];
    struct cover_part parts[COVER_LINES], allowed[COVER_CONFIGURATIONS];
    bool seen_mean, seen_worst, seen_held_out;
    char text[COVER_TEXT_BYTES];
    size_t used;
};

/* All zero; NULL if memory runs out. free() it. */
struct cover_section *cover_section_new(void);
void cover_section_clear(struct cover_section *section);

/* Whether this key belongs only to covers. */
bool cover_section_has_key(const char *key);

/*
 * Add a value that all problems of the cover share, and a line. Both return 0 or
 * INI_READER_BAD_FILE with a message in `ini`. Strings are copied.
 */
int cover_section_fix(struct cover_section *section, struct ini_reader *ini, const char *name,
                      const char *text, const struct literal *value);
int cover_section_add(struct cover_section *section, struct ini_reader *ini, const char *key,
                      const char *text);

/* Reads "n=65536 k=16: 2, 5120.0 ns, 0.4 %": a number for each range in order, the fastest
 * configuration (counted from 1), its median, and the loss of the rule's choice. False if the text
 * has another form. */
bool cover_section_read_size(const struct cover_section *section, const char *text,
                             struct cover_measured *size);

/* Checks that nothing is missing and compiles the rule; ini->line is set to the line at fault; if
 * no single line is, it stays as it was. */
int cover_section_finish(struct cover_section *section, struct ini_reader *ini);

/* The values of an expression for `count` problems, as a line that chooses `configuration` sees it;
 * `values` are as for a rule, problem after problem. NAN, with a message in `ini`, if the expression is
 * wrong. Uses the section's free steps. */
void cover_section_evaluate(struct cover_section *section, struct ini_reader *ini,
                            const char *expression, size_t configuration, const double *values,
                            size_t count, double *results);

/* Which line decides at a problem; false if it is not in the range. Does not allocate. */
bool cover_rule_decide(const struct cover_rule *rule, const double *values, size_t *line);

/* Which configurations the figure `allowed` allows at a problem whose numbers may lie outside the
 * range; all, if the cover has no such figure. False if the cover's constraint rules out the problem.
 * Does not allocate. */
bool cover_rule_allow(const struct cover_rule *rule, const double *values,
                      bool allowed[COVER_CONFIGURATIONS]);

#endif
