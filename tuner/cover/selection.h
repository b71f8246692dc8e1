/*
 * How many configurations a cover gets, and which: those that lose least, of their fastest at each size.
 *
 * What they lose at sizes that were not measured is estimated by leaving out each size in turn: the others
 * decide there, as in a look-up (base/cover.h). The fewest configurations that are about
 * as good as any number by this estimate are shipped.
 */
#ifndef AUTOTUNE_SELECTION_H
#define AUTOTUNE_SELECTION_H

#include "cover/problem_range.h"

#include <stdbool.h>
#include <stddef.h>

/* --- losses: the logarithm of a time over the best time at that size; 0.01 is about 1 % --- */

/* What may stand in place of a time in a table of times. */
#define TIME_MISSING (-1.0)
#define TIME_FAILED (-2.0)
#define TIME_RULED_OUT (-3.0) /* by a constraint: a rule passes it over there */

/* The loss of a failure: so much worse than any slow variant that it is chosen only if nothing else is
 * left. What was not measured counts as twice as slow as the best, and what is ruled out loses as much as
 * the worst that was measured there. */
#define LOSS_FAILED 7.0
#define LOSS_MISSING 0.6931471805599453

struct losses {
    size_t configurations;
    size_t sizes;
    double *values;  /* [configuration * sizes + size] */
    bool *ruled_out; /* the same */
};

/*
 * The losses of `times_ns`, [configuration * sizes + size], with a positive time, TIME_MISSING,
 * TIME_FAILED or TIME_RULED_OUT in each place. A size at which nothing was measured loses nothing, whatever is
 * chosen.
 */
void losses_init(struct losses *losses, const double *times_ns, size_t configurations,
                 size_t sizes);
void losses_release(struct losses *losses);

double losses_of(const struct losses *losses, size_t configuration, size_t size);

/* The same where there may be no other that is allowed: what is ruled out has failed. */
double losses_alone(const struct losses *losses, size_t configuration, size_t size);

/* Over all sizes; all zero at first. */
struct loss {
    double mean;
    double squares; /* the mean of the losses' squares */
    double worst;
};

/* Adds what is lost at one of `sizes` sizes. */
static inline void loss_add(struct loss *loss, size_t sizes, double lost)
{
    loss->mean += lost / (double)sizes;
    loss->squares += lost * lost / (double)sizes;
    loss->worst = lost > loss->worst ? lost : loss->worst;
}

/*
 * What is minimised: the mean; the squares, because losing 20 % somewhere is worse than losing 2 % at
 * ten times as many sizes; and a little of the worst, which says little about the worst of the sizes that
 * were not measured.
 */
double loss_objective(struct loss loss);

/* A loss as the shortfall from the best speed, in percent of it: ln(1.25) is 20 %. */
double loss_percent(double loss);

/* --- the choice of the few that together lose least, if the best of them is taken at each size --- */

/* What each further configuration that an application ships must be worth. */
#define CHOICE_WORTH 0.0005

enum { CHOICE_LIMIT = 16 };

/*
 * Chooses at most `limit` configurations, and fewer if another lowers
 * loss_objective() by less than `worth`. The choice is greedy, starts from each configuration in
 * turn, and exchanges chosen ones for others while that helps. Of equals, the one with the lower
 * index is chosen. Returns how many; `chosen` has room for `limit`.
 */
size_t choice_make(const struct losses *losses, size_t limit, double worth, size_t *chosen);

/* --- the selection --- */

/* Of fewer sizes, none is left out: what is lost elsewhere is not known. */
enum { SIZES_HELD_OUT = 3 };

/* The best choice of at most a given number of configurations. */
struct selection_option {
    size_t chosen[CHOICE_LIMIT];
    size_t count;
    struct loss least;    /* of the fastest of these at each size */
    struct loss expected; /* at sizes left out; with fewer sizes than SIZES_HELD_OUT, `least` */
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
    const double *estimates; /* cover_estimate() */
};

/* `limit` is 1 to CHOICE_LIMIT. Release it first if it is not empty. */
void selection_make(struct selection *selection, const struct losses *losses,
                    const struct selection_times *times, const struct sizes *sizes, size_t limit);
void selection_release(struct selection *selection);

/* The index in `chosen` of the option's fastest configuration at a size. */
size_t selection_fastest(const struct selection_option *option, const struct losses *losses,
                         size_t size);

#endif
