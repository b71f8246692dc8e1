/*
 * A cover: a few configurations for a range of problems. For a problem, it chooses the configuration that
 * is expected to be the fastest, of those that the constraints allow. What is expected of one is the mean
 * of its times at the nearest sizes at which it was measured, each relative to the fastest one there. If
 * the cover has an estimate of times, which need not be good, each time is first divided by its estimate,
 * and the mean is multiplied by the problem's. FORMATS.md specifies a cover's lines in the tuned INI, which
 * base/tuned_reader.h reads and `autotune cover` makes:
 *
 *     cover = cover_new();
 *     cover_fix(cover, ini, "value_type", "float", &literal);       (problem.NAME)
 *     cover_add(cover, ini, "range.n", "1 .. 1024");                (each line in turn)
 *     cover_finish(cover, ini);
 *     inside = cover_has(cover, problem);
 *     found = cover_choose(cover, problem, &choice);
 *
 * A cover keeps its lines, so that it is written as it was read. Configurations, sizes and conditions are
 * counted from 0 here, and from 1 in the file.
 *
 * libtuned contains this module: it never aborts or prints. Look-ups do not allocate.
 */
#ifndef AUTOTUNE_COVER_H
#define AUTOTUNE_COVER_H

#include "base/expression.h"
#include "base/ini_reader.h"
#include "base/literal.h"
#include "base/value.h"

#include <autotune/tuned.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    COVER_VERSION = 3,
    COVER_CONFIGURATIONS = 32,
    COVER_CONDITIONS = 16,
    COVER_FIGURES = 32,
    COVER_SIZES = 1024,
    COVER_COMPILED_VALUES = 2, /* of a configuration's main launch: registers, blocks_per_sm */
    COVER_VALUES = TUNED_PROBLEM_VALUES + 1 /* of a problem: one for each range, then sm_count */
};

struct cover_configuration {
    struct tuned_value *parameters;
    struct value *values; /* of the parameters */
    size_t count;
    struct value compiled[COVER_COMPILED_VALUES]; /* 0: not known */
    bool incomplete; /* never chosen: an expression names such a value */
};

/* What a name of an expression means: one of the problem's values, of the fixed ones, ... */
struct cover_name {
    enum { COVER_PROBLEM, COVER_FIXED, COVER_PARAMETER, COVER_COMPILED, COVER_FIGURE } kind;
    size_t index;
};

struct cover_expression {
    const char *key;  /* of its line */
    const char *text; /* NULL: none */
    int line;
    struct expression *expression;
    const struct steps *steps; /* of the expression */
    struct cover_name names[EXPRESSION_NAME_LIMIT];
    size_t name_count;
};

struct cover_line {
    const char *key, *text;
};

/* The members are for reading. */
struct cover {
    struct tuned_cover public; /* its configurations are set by whoever has a table of them */
    struct tuned_range ranges[TUNED_PROBLEM_VALUES];
    struct tuned_value fixed[TUNED_PROBLEM_VALUES]; /* problem values without a range */
    struct value fixed_values[TUNED_PROBLEM_VALUES];
    size_t fixed_count;
    struct cover_configuration configurations[COVER_CONFIGURATIONS];
    struct cover_expression constraint;                /* on problems: of the range */
    struct cover_expression allowed[COVER_CONDITIONS]; /* a configuration may be used if all hold */
    size_t allowed_count;
    struct cover_expression figures[COVER_FIGURES]; /* each may name those before it */
    size_t figure_count;
    struct cover_expression estimate; /* of a configuration's time, in any unit; may name figures */
    double *scales;                   /* [range * sizes + size]: value_scale() of its number */
    double *
        ratios; /* [configuration * sizes + size]: time over estimate, relative to the least there; 0:
                       not measured; large: failed */
    struct cover_line *lines;
    size_t line_count;

    /* private */
    struct tuned_size *sizes;
    struct cover_block *blocks; /* of memory */
    struct cover *next;         /* of the owner's list */
};

/* An empty one; NULL if memory runs out. */
struct cover *cover_new(void);
void cover_free(struct cover *cover); /* NULL is allowed */

/* Whether this key belongs only to covers. */
bool cover_has_key(const char *key);

/* Add a value that all problems of the cover share, and a line. Strings are copied. Both return 0,
 * INI_READER_BAD_FILE with a message in `ini`, or INI_READER_NO_MEMORY. */
int cover_fix(struct cover *cover, struct ini_reader *ini, const char *name, const char *text,
              const struct literal *value);
int cover_add(struct cover *cover, struct ini_reader *ini, const char *key, const char *text);

/* Checks that nothing is missing or contradictory; `sm_count` is that of the GPU on which the sizes were
 * measured, 0: not known. Returns as cover_add(); ini->line is set to the line at fault, if there is a single
 * one. */
int cover_finish(struct cover *cover, struct ini_reader *ini, int sm_count);

/*
 * What follows is for a cover that is finished. A problem is one value for each range, in order, and the
 * GPU's number of SMs. An expression that cannot be evaluated, for example because of a division by zero,
 * is a condition that does not hold, or no estimate: then the configuration is not chosen.
 */

/* Whether the problem is in the range. */
bool cover_has(const struct cover *cover, const struct value problem[COVER_VALUES]);

/* Whether the constraints allow a configuration for the problem, in the range or not. */
bool cover_allows(const struct cover *cover, size_t configuration,
                  const struct value problem[COVER_VALUES]);

/* The estimate of a configuration's time; 1 if the cover has none, and 0 if it is not a positive number. */
double cover_estimate(const struct cover *cover, size_t configuration,
                      const struct value problem[COVER_VALUES]);

/* What is known of configurations at one size: sets the `count` ratios to times over estimates, relative to
 * the least of them; 0 for a time or estimate of 0, which is not known; and a large number for an infinite
 * time, which is a failure. */
void cover_compare(const double *times_ns, const double *estimates, double *ratios, size_t count);

/* The mean of the values at the four least distances, weighted by 1 / (distance + 0.01). Values of 0 and
 * infinite distances are passed over; 0 if nothing is left. */
double cover_mean(const double *values, const double *distances, size_t count);

struct cover_choice {
    size_t configuration;
    const struct tuned_size *size; /* the nearest at which it was measured */
    double distance; /* of that size: the sum of |s(a) - s(b)| over the ranges, with s() of
                                      value_scale() */
};

/* Chooses for a problem in the range or not; of equals, the first. False if the constraint on problems does
 * not hold, or no configuration is allowed. */
bool cover_choose(const struct cover *cover, const struct value problem[COVER_VALUES],
                  struct cover_choice *choice);

/* A value of the problem or a parameter. */
struct value cover_value(const struct tuned_value *value);

/* Where names have their values: of[kind][index]. */
struct cover_values {
    const struct value *of[COVER_FIGURE + 1];
};

/* Of a problem, and of a configuration if it is not NULL; without figures. */
struct cover_values cover_values(const struct cover *cover,
                                 const struct cover_configuration *configuration,
                                 const struct value *problem);

#endif
