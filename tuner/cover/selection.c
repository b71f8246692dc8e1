#include "cover/selection.h"

#include "base/alloc.h"
#include "base/cover.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- losses --- */

static const double squares_share = 5;
static const double worst_share = 0.02;

/* The best time at a size; 0: nothing was measured. */
static double best_ns(const double *times_ns, size_t configurations, size_t sizes, size_t size)
{
    double best = 0;
    for (size_t i = 0; i < configurations; i++) {
        double time_ns = times_ns[i * sizes + size];
        if (time_ns > 0 && (best <= 0 || time_ns < best))
            best = time_ns;
    }
    return best;
}

/* The worst time at a size; 0: nothing was measured. */
static double worst_ns(const double *times_ns, size_t configurations, size_t sizes, size_t size)
{
    double worst = 0;
    for (size_t i = 0; i < configurations; i++)
        worst = fmax(worst, times_ns[i * sizes + size]);
    return worst;
}

static double loss_of_time(double time_ns, double best, double worst)
{
    if (best <= 0)
        return 0;
    if (time_ns <= TIME_RULED_OUT)
        time_ns = worst;
    if (time_ns <= TIME_FAILED)
        return LOSS_FAILED;
    return time_ns > 0 ? fmin(log(time_ns / best), LOSS_FAILED) : LOSS_MISSING;
}

void losses_init(struct losses *losses, const double *times_ns, size_t configurations, size_t sizes)
{
    *losses = (struct losses){.configurations = configurations,
                              .sizes = sizes,
                              .values = alloc_zeroed(configurations * sizes, sizeof(double)),
                              .ruled_out = alloc_zeroed(configurations * sizes, sizeof(bool))};
    for (size_t size = 0; size < sizes; size++) {
        double best = best_ns(times_ns, configurations, sizes, size);
        double worst = worst_ns(times_ns, configurations, sizes, size);
        for (size_t i = 0; i < configurations; i++) {
            double time_ns = times_ns[i * sizes + size];
            losses->values[i * sizes + size] = loss_of_time(time_ns, best, worst);
            losses->ruled_out[i * sizes + size] = best > 0 && time_ns <= TIME_RULED_OUT;
        }
    }
}

void losses_release(struct losses *losses)
{
    free(losses->values);
    free(losses->ruled_out);
    *losses = (struct losses){0};
}

double losses_of(const struct losses *losses, size_t configuration, size_t size)
{
    return losses->values[configuration * losses->sizes + size];
}

double losses_alone(const struct losses *losses, size_t configuration, size_t size)
{
    return losses->ruled_out[configuration * losses->sizes + size]
               ? LOSS_FAILED
               : losses_of(losses, configuration, size);
}

double loss_objective(struct loss loss)
{
    return loss.mean + squares_share * loss.squares + worst_share * loss.worst;
}

double loss_percent(double loss)
{
    return 100 * -expm1(-loss);
}

/* --- the choice --- */

/* Differences below this are rounding. */
static const double rounding = 1e-12;

/* What all but chosen[place] lose at each size. */
static void lose_but(const struct losses *losses, const size_t *chosen, size_t count, size_t place,
                     double *least)
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
    lose_but(losses, chosen, count, place, least);
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

/* --- the selection --- */

/* What fewer configurations may lose more. */
static const double as_good = 0.001;

size_t selection_fastest(const struct selection_option *option, const struct losses *losses,
                         size_t size)
{
    size_t fastest = 0;
    for (size_t i = 1; i < option->count; i++)
        if (losses_alone(losses, option->chosen[i], size) <
            losses_alone(losses, option->chosen[fastest], size))
            fastest = i;
    return fastest;
}

/* What an option is judged by. */
struct judging {
    const struct losses *losses;
    const struct selection_times *times;
    const double *distances; /* [size * sizes + size], infinite for the same */
    double *ratios;          /* [chosen * sizes + size] */
};

/* As look-ups see the times of the option's configurations (base/cover.h). */
static void compare(const struct judging *judging, const struct selection_option *option)
{
    const size_t sizes = judging->losses->sizes;
    double times_ns[CHOICE_LIMIT];
    double estimates[CHOICE_LIMIT];
    double ratios[CHOICE_LIMIT];
    for (size_t size = 0; size < sizes; size++) {
        for (size_t i = 0; i < option->count; i++) {
            size_t place = option->chosen[i] * sizes + size;
            double time_ns = judging->times->times_ns[place];
            bool failed = time_ns >= TIME_FAILED && time_ns <= TIME_FAILED;
            times_ns[i] = failed ? INFINITY : fmax(time_ns, 0);
            estimates[i] = judging->times->estimates[place];
        }
        cover_compare(times_ns, estimates, ratios, option->count);
        for (size_t i = 0; i < option->count; i++)
            judging->ratios[i * sizes + size] = ratios[i];
    }
}

/* What is lost at a size if the other sizes decide which of the configurations that are allowed there is
 * chosen. */
static double lose_without(const struct judging *judging, const struct selection_option *option,
                           size_t size)
{
    const struct losses *losses = judging->losses;
    const size_t sizes = losses->sizes;
    double least = INFINITY;
    double lost = LOSS_FAILED;
    for (size_t i = 0; i < option->count; i++) {
        size_t place = option->chosen[i] * sizes + size;
        double expected =
            cover_mean(&judging->ratios[i * sizes], &judging->distances[size * sizes], sizes) *
            judging->times->estimates[place];
        if (losses->ruled_out[place] || !(expected > 0) || expected >= least)
            continue;
        least = expected;
        lost = losses->values[place];
    }
    return lost;
}

static void judge(const struct judging *judging, struct selection_option *option)
{
    const struct losses *losses = judging->losses;
    option->expected_at = alloc_zeroed(losses->sizes, sizeof *option->expected_at);
    compare(judging, option);
    for (size_t size = 0; size < losses->sizes; size++) {
        size_t fastest = selection_fastest(option, losses, size);
        double least = losses_alone(losses, option->chosen[fastest], size);
        option->expected_at[size] =
            losses->sizes < SIZES_HELD_OUT ? least : lose_without(judging, option, size);
        loss_add(&option->least, losses->sizes, least);
        loss_add(&option->expected, losses->sizes, option->expected_at[size]);
    }
}

/* A new array. */
static double *make_distances(const struct sizes *sizes)
{
    double *distances = alloc_zeroed(sizes->count * sizes->count, sizeof *distances);
    for (size_t i = 0; i < sizes->count; i++)
        for (size_t j = 0; j < sizes->count; j++)
            distances[i * sizes->count + j] =
                i != j ? sizes_distance(sizes_at(sizes, i), sizes_at(sizes, j), sizes->axes)
                       : INFINITY;
    return distances;
}

void selection_make(struct selection *selection, const struct losses *losses,
                    const struct selection_times *times, const struct sizes *sizes, size_t limit)
{
    double least = INFINITY;
    double *distances = make_distances(sizes);
    double *ratios = alloc_zeroed(limit * sizes->count, sizeof *ratios);
    const struct judging judging = {losses, times, distances, ratios};
    *selection = (struct selection){0};
    while (selection->count < limit) {
        struct selection_option *option = &selection->options[selection->count];
        option->count = choice_make(losses, selection->count + 1, CHOICE_WORTH, option->chosen);
        if (option->count <= selection->count)
            break; /* no further configuration is worth it */
        judge(&judging, option);
        least = fmin(least, loss_objective(option->expected));
        selection->count++;
    }
    while (loss_objective(selection->options[selection->best].expected) > least + as_good)
        selection->best++;
    free(ratios);
    free(distances);
}

void selection_release(struct selection *selection)
{
    for (size_t i = 0; i < selection->count; i++)
        free(selection->options[i].expected_at);
    *selection = (struct selection){0};
}
