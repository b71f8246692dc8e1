/*
 * How much each parameter matters in a study, so that a user learns what to sweep next: the best
 * result at each of its values, and the share of the variance that it explains. Pure functions of
 * the study.
 *
 * What is explained is the logarithm of the median time (a slowdown by a factor counts the same
 * wherever it happens), over the measured variants; in static mode, and where nothing was measured,
 * the occupancy, over the variants that compiled.
 *
 * Shares, as in Sobol's analysis of variance, here exact sums over the variants that there are:
 *   alone   of the total sum of squares, what lies between the means of its values: what is gained
 *           by choosing this parameter and knowing nothing of the others
 *   total   what is left within groups of variants that differ in this parameter only: what is lost
 *           by choosing every other parameter and leaving this one to chance
 *   near    total again, among the variants within a factor of two of the best only: outliers left
 *           out, what remains to be gained
 * total beyond alone is interaction with other parameters. In a space that constraints have cut out
 * of its grid, parameters that go together share what they explain, and alone may exceed total.
 */
#ifndef AUTOTUNE_PARAMETER_IMPORTANCE_H
#define AUTOTUNE_PARAMETER_IMPORTANCE_H

#include "record/study.h"

#include <stdbool.h>
#include <stddef.h>

struct importance_level {
    struct value value; /* borrowed from the study */
    size_t variants;    /* that have this value */
    size_t usable;      /* of them, those that count */
    size_t best;        /* index of the best of these among the study's results */
};

struct importance {
    const char *name;                /* borrowed from the study */
    struct importance_level *levels; /* numbers ascending, words in the study's order */
    size_t level_count;              /* at least 2 */
    double alone;                    /* 0 to 1 */
    double total;                    /* 0 to 1 */
    double near;                     /* 0 to 1 */
};

struct importances {
    bool of_time;             /* of time; otherwise of occupancy */
    struct importance *items; /* one for each parameter that varies, the greatest total first */
    size_t count;
    size_t usable; /* variants that count */
    bool varies;   /* what is explained differs between them */
};

void importances_find(const struct study *study, struct importances *effects);
void importances_release(struct importances *effects);

/* Whether `result` counts, and the number that is compared: nanoseconds, or occupancy. */
bool importances_usable(const struct importances *effects, const struct result *result);
double importances_number(const struct importances *effects, const struct result *result);
bool importances_better(const struct importances *effects, double a, double b);

/* The winner's level, else that of the best result that counts; level_count where none does. */
size_t importance_best_level(const struct importances *effects, const struct importance *effect,
                             const struct study *study);

/* The level of `result`; level_count where it has none. */
size_t importance_level_of(const struct importance *effect, const struct result *result);

/*
 * Whether the best level is at an end of the values swept, of three or more numbers, and the
 * parameter matters (1 % or more): values beyond it may be better still. A smallest value of 1 or 0
 * does not count.
 */
bool importance_best_at_end(const struct importances *effects, const struct importance *effect,
                            const struct study *study, bool *largest);

#endif
