#include "cover/size_plan.h"

#include <math.h>

enum { TRIES = 16384 /* of which constraints may reject most */ };

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
    for (size_t i = 0; i < range->kernel->cover.axis_count; i++) {
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

static int add_corners(const struct problem_range *range, size_t count, struct sizes *sizes,
                       struct error *error)
{
    const size_t axes = range->kernel->cover.axis_count;
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

int size_plan(const struct problem_range *range, size_t count, struct sizes *sizes,
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
