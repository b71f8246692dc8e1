/*
 * A cover: a few configurations for a range of problems. For a problem, it chooses the configuration that
 * was the fastest at the nearest size that was measured; if the constraints do not allow it there, the
 * next nearest size decides. FORMATS.md specifies its lines in the tuned INI, which base/tuned_reader.h
 * reads and `autotune cover` makes:
 *
 *     cover = cover_new();
 *     cover_fix(cover, ini, "value_type", "float", &literal);       (problem.NAME)
 *     cover_add(cover, ini, "range.n", "1 .. 1024");                (each line in turn)
 *     cover_finish(cover, ini);
 *     inside = cover_has(cover, problem);
 *     size = cover_choose(cover, problem, &distance);
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
    COVER_VERSION = 2,
    COVER_CONFIGURATIONS = 32,
    COVER_CONDITIONS = 16,
    COVER_SIZES = 1024,
    COVER_VALUES = TUNED_PROBLEM_VALUES + 1 /* of a problem: one for each range, then sm_count */
};

struct cover_configuration {
    struct tuned_value *parameters;
    size_t count;
    int registers, blocks_per_sm; /* of the main launch; 0: not known */
};

/* What a name of a condition means; `index` is that of a range, a fixed value or a parameter. */
struct cover_name {
    enum {
        COVER_RANGE,
        COVER_SM_COUNT,
        COVER_FIXED,
        COVER_PARAMETER,
        COVER_REGISTERS,
        COVER_BLOCKS_PER_SM
    } kind;
    size_t index;
};

struct cover_condition {
    const char *text; /* NULL: none, which always holds */
    int line;
    struct expression *expression;
    struct cover_name names[EXPRESSION_NAME_LIMIT];
};

struct cover_line {
    const char *key, *text;
};

/* The members are for reading. */
struct cover {
    struct tuned_cover public; /* its configurations are set by whoever has a table of them */
    struct tuned_range ranges[TUNED_PROBLEM_VALUES];
    struct tuned_value fixed[TUNED_PROBLEM_VALUES]; /* problem values without a range */
    size_t fixed_count;
    struct cover_configuration configurations[COVER_CONFIGURATIONS];
    struct cover_condition constraint;                /* on problems: of the range */
    struct cover_condition allowed[COVER_CONDITIONS]; /* a configuration may be used if all hold */
    size_t allowed_count;
    double *scales; /* value_scale() of the measured sizes' numbers, a row for each */
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

/* Checks that nothing is missing or contradictory. Returns as cover_add(); ini->line is set to the line at
 * fault, if there is a single one. */
int cover_finish(struct cover *cover, struct ini_reader *ini);

/*
 * What follows is for a cover that is finished. A problem is one value for each range, in order, and the
 * GPU's number of SMs. A condition that cannot be evaluated, for example because of a division by zero,
 * does not hold.
 */

/* Whether the problem is in the range. */
bool cover_has(const struct cover *cover, const struct value problem[COVER_VALUES]);

/* Whether the constraints allow a configuration for the problem, in the range or not. */
bool cover_allows(const struct cover *cover, size_t configuration,
                  const struct value problem[COVER_VALUES]);

/* The size that decides, in the range or not; NULL if the constraint on problems does not hold, or if no
 * size's configuration is allowed. Of two that are equally near, the first. The distance is the sum of |s(a) - s(b)| over the ranges, with s() of value_scale(). */
const struct tuned_size *cover_choose(const struct cover *cover,
                                      const struct value problem[COVER_VALUES], double *distance);

/* A value of the problem or a parameter. */
struct value cover_value(const struct tuned_value *value);

/* The value of a condition's name. `configuration` is NULL for a condition that names nothing of one. False
 * if it has no value: the configuration's registers, not known. The condition does not hold then. */
bool cover_meaning(const struct cover *cover, const struct cover_name *name,
                   const struct cover_configuration *configuration, const struct value *problem,
                   struct value *value);

#endif
