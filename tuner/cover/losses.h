/*
 * Times of configurations at sizes, and what each configuration loses there.
 *
 * A loss is the logarithm of a time over the best time at that size: 0.01 is about 1 %.
 */
#ifndef AUTOTUNE_LOSSES_H
#define AUTOTUNE_LOSSES_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
