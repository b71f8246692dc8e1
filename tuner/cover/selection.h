/*
 * How many configurations a cover gets, and which: those that lose least, of their fastest at each size.
 *
 * What they lose at sizes that were not measured is estimated by leaving out each size in turn: the others
 * decide there, as in a look-up (base/cover.h). The fewest configurations that are about
 * as good as any number by this estimate are shipped.
 */
#ifndef AUTOTUNE_SELECTION_H
#define AUTOTUNE_SELECTION_H

#include "cover/choice.h"
#include "cover/losses.h"
#include "cover/problem_range.h"

#include <stddef.h>

/* The best choice of at most a given number of configurations. */
struct selection_option {
    size_t chosen[CHOICE_LIMIT];
    size_t count;
    struct loss least;    /* of the fastest of these at each size */
    struct loss expected; /* at sizes left out; with fewer than three sizes, `least` */
    double *expected_at;  /* each size, left out */
};

struct selection {
    struct selection_option options[CHOICE_LIMIT]; /* with at most 1, 2, … */
    size_t count;
    size_t best;
};

/* Of the configurations in `losses`, [configuration * sizes + size]. */
struct selection_times {
    const double *times_ns;  /* as in losses.h */
    const double *estimates; /* cover_estimate(); NULL: all are 1 */
};

/* `limit` is 1 to CHOICE_LIMIT. Release it first if it is not empty. */
void selection_make(struct selection *selection, const struct losses *losses,
                    const struct selection_times *times, const struct sizes *sizes, size_t limit);
void selection_release(struct selection *selection);

/* The index in `chosen` of the option's fastest configuration at a size. */
size_t selection_fastest(const struct selection_option *option, const struct losses *losses,
                         size_t size);

#endif
