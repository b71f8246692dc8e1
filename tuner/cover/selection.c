#include "cover/selection.h"

#include "base/alloc.h"
#include "base/cover.h"

#include <math.h>
#include <stdlib.h>

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

static double estimate(const struct judging *judging, size_t place)
{
    return judging->times->estimates != NULL ? judging->times->estimates[place] : 1;
}

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
            estimates[i] = estimate(judging, place);
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
            estimate(judging, place);
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
        option->expected_at[size] = losses->sizes < 3 ? least : lose_without(judging, option, size);
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
