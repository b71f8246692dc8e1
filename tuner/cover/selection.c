#include "cover/selection.h"

#include "base/alloc.h"

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

/* What is lost at a size if the nearest of the other sizes decides whose configuration is allowed there. */
static double lose_without(const struct selection_option *option, const struct losses *losses,
                           const struct sizes *sizes, const size_t *fastest, size_t size)
{
    double least = INFINITY;
    double lost = LOSS_FAILED;
    for (size_t i = 0; i < sizes->count; i++) {
        size_t configuration = option->chosen[fastest[i]];
        double distance = sizes_distance(sizes_at(sizes, i), sizes_at(sizes, size), sizes->axes);
        if (i == size || distance >= least ||
            losses->ruled_out[configuration * losses->sizes + size])
            continue;
        least = distance;
        lost = losses_of(losses, configuration, size);
    }
    return lost;
}

static void judge(struct selection_option *option, const struct losses *losses,
                  const struct sizes *sizes)
{
    size_t *fastest = alloc_zeroed(sizes->count, sizeof *fastest);
    option->expected_at = alloc_zeroed(sizes->count, sizeof *option->expected_at);
    for (size_t size = 0; size < sizes->count; size++)
        fastest[size] = selection_fastest(option, losses, size);
    for (size_t size = 0; size < sizes->count; size++) {
        double least = losses_alone(losses, option->chosen[fastest[size]], size);
        option->expected_at[size] =
            sizes->count < 3 ? least : lose_without(option, losses, sizes, fastest, size);
        loss_add(&option->least, losses->weights[size], least);
        loss_add(&option->expected, losses->weights[size], option->expected_at[size]);
    }
    free(fastest);
}

void selection_make(struct selection *selection, const struct losses *losses,
                    const struct sizes *sizes, size_t limit)
{
    double least = INFINITY;
    *selection = (struct selection){0};
    while (selection->count < limit) {
        struct selection_option *option = &selection->options[selection->count];
        option->count = choice_make(losses, selection->count + 1, CHOICE_WORTH, option->chosen);
        if (option->count <= selection->count)
            break; /* no further configuration is worth it */
        judge(option, losses, sizes);
        least = fmin(least, loss_objective(option->expected));
        selection->count++;
    }
    while (loss_objective(selection->options[selection->best].expected) > least + as_good)
        selection->best++;
}

void selection_release(struct selection *selection)
{
    for (size_t i = 0; i < selection->count; i++)
        free(selection->options[i].expected_at);
    *selection = (struct selection){0};
}
