#include "cover/choice.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Differences below this are rounding. */
static const double rounding = 1e-12;

/* What all but chosen[place] lose at each size. */
static void lose_without(const struct losses *losses, const size_t *chosen, size_t count,
                         size_t place, double *least)
{
    for (size_t size = 0; size < losses->sizes; size++) {
        least[size] = LOSS_FAILED;
        for (size_t i = 0; i < count; i++)
            if (i != place)
                least[size] = fmin(least[size], losses_alone(losses, chosen[i], size));
    }
}

/* Gives chosen[place] the configuration that is best there, given the others. `least` is scratch.
 * Returns the objective. */
static double fill_place(const struct losses *losses, size_t *chosen, size_t count, size_t place,
                         double *least)
{
    double best = INFINITY;
    lose_without(losses, chosen, count, place, least);
    for (size_t i = 0; i < losses->configurations; i++) {
        struct loss loss = {0};
        for (size_t size = 0; size < losses->sizes; size++)
            loss_add(&loss, losses->sizes, fmin(least[size], losses_alone(losses, i, size)));
        if (loss_objective(loss) < best - rounding) {
            best = loss_objective(loss);
            chosen[place] = i;
        }
    }
    return best;
}

/* `count` configurations that begin with `first`, which may be exchanged. Returns the objective. */
static double grow(const struct losses *losses, size_t first, size_t *chosen, size_t count,
                   double *least)
{
    double objective = INFINITY;
    double before;
    chosen[0] = first;
    for (size_t i = 1; i < count; i++)
        (void)fill_place(losses, chosen, i + 1, i, least);
    do { /* exchange one for another; each time lowers the objective, so this ends */
        before = objective;
        for (size_t place = 0; place < count; place++)
            objective = fill_place(losses, chosen, count, place, least);
    } while (objective < before - rounding);
    return objective;
}

/* The best `count` configurations that growing from each finds. Returns the objective. */
static double choose(const struct losses *losses, size_t *chosen, size_t count)
{
    double best = INFINITY;
    double *least = alloc_zeroed(losses->sizes, sizeof *least);
    size_t *grown = alloc_zeroed(count, sizeof *grown);
    for (size_t first = 0; first < losses->configurations; first++) {
        double objective = grow(losses, first, grown, count, least);
        if (objective >= best - rounding)
            continue;
        best = objective;
        memcpy(chosen, grown, count * sizeof *grown);
    }
    free(grown);
    free(least);
    return best;
}

size_t choice_make(const struct losses *losses, size_t limit, double worth, size_t *chosen)
{
    size_t count = 0;
    double objective = INFINITY;
    size_t *more = alloc_zeroed(limit, sizeof *more);
    while (count < limit && count < losses->configurations) {
        double after = choose(losses, more, count + 1);
        if (after > objective - worth)
            break;
        objective = after;
        count++;
        memcpy(chosen, more, count * sizeof *more);
    }
    free(more);
    return count;
}
