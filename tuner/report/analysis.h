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
#ifndef AUTOTUNE_ANALYSIS_H
#define AUTOTUNE_ANALYSIS_H

#include "record/gpu.h"
#include "record/study.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/*
 * How a variant could reach a higher occupancy: for one resource at a time, the largest amount
 * below the variant's own that raises occupancy if nothing else changes. Computed by the occupancy
 * calculator only: it does not mean that the kernel works, or is faster, with less.
 */
/* "registers <= 40: 75 %, shared <= 3456 B: 62 %"; "no single change" if nothing helps, the statistics are unknown or
 * occupancy is 100 % already. A new string. */
char *headroom_text(const struct gpu *gpu, const struct kernel_stats *stats);

/*
 * The two roofs of a GPU: the most bytes that it can move, and the most operations that it can do,
 * in a given time. Taken from the record if kernels of the templates roof_copy and roof_fma were
 * tuned on the same GPU, as configs/roofs.ini does (their best, whatever the problem); otherwise
 * from the GPU's attributes:
 *   bandwidth   memory clock x 2 transfers x bus width
 *   operations  SMs x FP32 lanes of an SM x 2 (a fused multiply-add) x highest clock
 * The lanes are those of the CUDA C++ Programming Guide, "Arithmetic Instructions".
 */

struct roofs {
    double bytes_per_ns; /* GB/s; 0: not known */
    double operations_per_ns;
    bool bytes_measured; /* otherwise theoretical */
    bool operations_measured;
};

/* The roofs of the subject's GPU. `studies` are those of the record. */
void roofs_find(const struct study *subject, const struct study *studies, size_t count,
                struct roofs *roofs);

/* --- how a study's best time improved while its variants were tried --- */

struct improvement {
    size_t number; /* it was the first, second, … variant that was tried */
    const struct result *result;
};

/* The variants that were faster than all before them, in the order they were tried; a new array. By
 * what is known of them now: the finals may have changed who was faster. None if it is not known
 * when they were tried. */
struct improvement *improvements_of(const struct study *study, size_t *count);

#endif
