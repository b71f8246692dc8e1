#include "cover/size_plan.h"

#include <math.h>

enum {
    SPREAD = 512,  /* sizes that stand for the whole range */
    TRIES = 16384, /* of which constraints may reject most */
    NEIGHBOURS = 4 /* measured sizes that are asked about one between them */
};

/* --- an even spread --- */

/* Element `index` of the van der Corput sequence of this base, 0 < result < 1 from index 1 on; for
 * several prime bases they make a Halton sequence (Halton 1960). */
static double halton(size_t index, size_t base)
{
    double result = 0;
    double digit = 1;
    for (; index > 0; index /= base) {
        digit /= (double)base;
        result += digit * (double)(index % base);
    }
    return result;
}

/* `value` with its leading bits only, `bits` of them; 0: all. Applications' sizes are round more
 * often than not. */
static int64_t keep_bits(int64_t value, int bits)
{
    int64_t unit = 1;
    while (bits > 0 && value / unit >= (int64_t)1 << bits)
        unit *= 2;
    return (value + unit / 2) / unit * unit;
}

static int64_t within(int64_t value, const struct cover_axis *axis)
{
    if (value < axis->low)
        return axis->low;
    return value > axis->high ? axis->high : value;
}

static void spread_size(const struct problem_range *range, size_t index, int64_t *size)
{
    static const size_t bases[SWEEP_COVER_AXES] = {2, 3, 5, 7, 11, 13};
    static const int bits[] = {3, 0, 6};
    for (size_t i = 0; i < problem_range_axes(range); i++) {
        const struct cover_axis *axis = &range->kernel->cover.axes[i];
        double octaves = log2((double)axis->high / (double)axis->low);
        double value = (double)axis->low * exp2(octaves * halton(index, bases[i]));
        size[i] = within(keep_bits(llround(value), bits[index % 3]), axis);
    }
}

/* Adds the size if the range admits it. */
static int add_admitted(const struct problem_range *range, const int64_t *size, struct sizes *sizes,
                        struct error *error)
{
    int admitted = problem_range_admits(range, size, error);
    if (admitted > 0)
        (void)sizes_add(sizes, size);
    return admitted < 0 ? admitted : 0;
}

/* Adds sizes from the sequence until there are `count`. */
static int add_spread(const struct problem_range *range, size_t count, struct sizes *sizes,
                      struct error *error)
{
    int64_t size[SWEEP_COVER_AXES];
    int status = 0;
    for (size_t index = 1; index < TRIES && sizes->count < count && status == 0; index++) {
        spread_size(range, index, size);
        status = add_admitted(range, size, sizes, error);
    }
    return status;
}

static int spread_evenly(const struct problem_range *range, struct sizes *spread,
                         struct error *error)
{
    *spread = (struct sizes){.axes = problem_range_axes(range)};
    return add_spread(range, SPREAD, spread, error);
}

/* --- the first sizes --- */

static int add_corners(const struct problem_range *range, size_t count, struct sizes *sizes,
                       struct error *error)
{
    const size_t axes = problem_range_axes(range);
    int64_t size[SWEEP_COVER_AXES];
    int status = 0;
    for (size_t corner = 0; corner < (size_t)1 << axes && sizes->count < count && status == 0;
         corner++) {
        for (size_t i = 0; i < axes; i++) {
            const struct cover_axis *axis = &range->kernel->cover.axes[i];
            size[i] = corner >> i & 1 ? axis->high : axis->low;
        }
        status = add_admitted(range, size, sizes, error);
    }
    return status;
}

int size_plan_first(const struct problem_range *range, size_t count, struct sizes *sizes,
                    struct error *error)
{
    int status = add_corners(range, count, sizes, error);
    if (status == 0)
        status = add_spread(range, count, sizes, error);
    if (status == 0 && sizes->count == 0)
        status = error_set(error, ERROR_CONFIG,
                           "no size in the range of 'cover' was found that satisfies the "
                           "constraints of '%s'",
                           range->kernel->label);
    return status;
}

/* --- weights --- */

int size_plan_weights(const struct problem_range *range, const struct sizes *sizes, double *weights,
                      struct error *error)
{
    struct sizes spread;
    int status = spread_evenly(range, &spread, error);
    for (size_t i = 0; i < sizes->count; i++)
        weights[i] = 0.5; /* ends of the range are nearest to less than a size's share */
    for (size_t i = 0; i < spread.count && status == 0; i++) {
        size_t nearest;
        (void)sizes_nearest(sizes, sizes_at(&spread, i), &nearest);
        weights[nearest] += 1;
    }
    sizes_release(&spread);
    return status;
}

/* --- the next sizes --- */

/* The measured sizes nearest to `size`, the nearest first. Returns how many. */
static size_t find_neighbours(const struct sizes *sizes, const int64_t *size, size_t *neighbours)
{
    double distances[NEIGHBOURS];
    size_t count = 0;
    for (size_t i = 0; i < sizes->count; i++) {
        double distance = sizes_distance(sizes_at(sizes, i), size, sizes->axes);
        if (count == NEIGHBOURS && distance >= distances[count - 1])
            continue;
        size_t place = count < NEIGHBOURS ? count++ : count - 1;
        for (; place > 0 && distances[place - 1] > distance; place--) {
            distances[place] = distances[place - 1];
            neighbours[place] = neighbours[place - 1];
        }
        distances[place] = distance;
        neighbours[place] = i;
    }
    return count;
}

/* What may be lost between the neighbours: the most that one's choice loses at another, and what was
 * lost when they were left out. */
static double doubt(const struct size_doubts *doubts, const size_t *neighbours, size_t count)
{
    double crossed = 0;
    double expected = 0;
    for (size_t i = 0; i < count; i++) {
        expected = fmax(expected, doubts->expected[neighbours[i]]);
        for (size_t j = 0; j < count; j++)
            crossed = fmax(crossed,
                           doubts->crossed[neighbours[i] * doubts->sizes->count + neighbours[j]]);
    }
    return fmin(crossed, 1) + fmin(expected, 1);
}

/* The size in the spread that is most worth measuring, with `next` as good as measured. NULL if none
 * is. */
static const int64_t *most_doubtful(const struct size_doubts *doubts, const struct sizes *spread,
                                    const struct sizes *next)
{
    static const double base = 0.02; /* what may be lost where nobody disagrees */
    static const double nearest_octaves = 0.05;
    const int64_t *chosen = NULL;
    double most = 0.004; /* a fifth of an octave from its neighbours, which agree */
    /* in 1-D, only the neighbours on both sides count */
    for (size_t i = 0; i < spread->count; i++) {
        const int64_t *size = sizes_at(spread, i);
        size_t neighbours[NEIGHBOURS];
        size_t unused;
        size_t count = find_neighbours(doubts->sizes, size, neighbours);
        double distance =
            fmin(sizes_nearest(doubts->sizes, size, &unused), sizes_nearest(next, size, &unused));
        distance = fmin(distance, sizes_nearest(doubts->left_out, size, &unused));
        if (spread->axes == 1 && count > 2) /* one on each side */
            count = 2;
        double worth = distance * (base + doubt(doubts, neighbours, count));
        if (distance < nearest_octaves || worth <= most)
            continue;
        most = worth;
        chosen = size;
    }
    return chosen;
}

int size_plan_next(const struct problem_range *range, const struct size_doubts *doubts,
                   size_t count, struct sizes *next, struct error *error)
{
    struct sizes spread;
    int status = spread_evenly(range, &spread, error);
    const int64_t *size = NULL;
    while (status == 0 && next->count < count &&
           (size = most_doubtful(doubts, &spread, next)) != NULL)
        (void)sizes_add(next, size);
    sizes_release(&spread);
    return status;
}
