/*
 * How much each parameter matters in a study, which tells a user what to sweep next: the best
 * result at each of its values, and the share of the variance that it explains. Pure functions of
 * the study.
 *
 * The variance is that of the logarithm of the median time (so that a slowdown by some factor
 * counts the same anywhere), over the measured variants. In static mode, or if nothing was
 * measured, it is the variance of the occupancy over the variants that compiled.
 *
 * The shares follow Sobol's analysis of variance; here they are exact sums over the variants:
 *   alone   the share of the sum of squares that lies between the means of the parameter's values:
 *           the gain from choosing this parameter while knowing nothing about the others
 *   total   the share that lies within groups of variants that differ in this parameter only: the
 *           loss from choosing all other parameters and leaving this one to chance
 *   near    `total` over only the variants within a factor of two of the best: what remains to be
 *           gained once the outliers are gone
 * The difference between total and alone is interaction with other parameters. If constraints, failures
 * or a search leave out parts of the grid, too few variants differ in one parameter only, and these
 * groups show less than the whole; so total is at least alone, and correlated parameters share what
 * they explain.
 */
#ifndef AUTOTUNE_PARAMETER_IMPORTANCE_H
#define AUTOTUNE_PARAMETER_IMPORTANCE_H

#include "record/study.h"

#include <stdbool.h>
#include <stddef.h>

struct parameter_level {
    struct value value; /* borrowed from the study */
    size_t variants;    /* with this value */
    size_t usable;      /* of those, how many are compared */
    size_t best;        /* index of the best of these in the study's results */
};

struct parameter_importance {
    const char *name;               /* borrowed from the study */
    struct parameter_level *levels; /* numbers ascending, words in the study's order */
    size_t level_count;             /* at least 2 */
    double alone;                   /* 0 to 1 */
    double total;                   /* 0 to 1 */
    double near;                    /* 0 to 1 */
};

struct importance {
    bool of_time;                       /* compares times; otherwise occupancies */
    struct parameter_importance *items; /* one per varying parameter, greatest total first */
    size_t count;
    size_t usable; /* variants compared */
    bool varies;   /* the compared numbers differ */
};

void importance_find(const struct study *study, struct importance *importance);
void importance_release(struct importance *importance);

/* Whether `result` is compared, and its number: nanoseconds, or occupancy. */
bool importance_usable(const struct importance *importance, const struct result *result);
double importance_number(const struct importance *importance, const struct result *result);
bool importance_better(const struct importance *importance, double a, double b);

/* The level of the winner, otherwise of the best result; level_count if there is neither. */
size_t parameter_best_level(const struct importance *importance,
                            const struct parameter_importance *parameter,
                            const struct study *study);

/* The level of `result`; level_count if it has none. */
size_t parameter_level_of(const struct parameter_importance *parameter,
                          const struct result *result);

/*
 * Whether values beyond those tried may be better still: the best level is the smallest or largest
 * of three or more numbers, the parameter matters (1 % or more), and every other value is slower by
 * more than noise and a tie. A smallest value of 0 or 1 does not count. False if nothing was timed,
 * because more occupancy is not always faster.
 */
bool parameter_best_at_end(const struct importance *importance,
                           const struct parameter_importance *parameter, const struct study *study,
                           bool *largest);

#endif
