/* Invented times: configurations × sizes, as formulas of the size. */
#ifndef AUTOTUNE_COVER_FIXTURE_H
#define AUTOTUNE_COVER_FIXTURE_H

#include "base/alloc.h"
#include "base/statistics.h"
#include "cover/selection.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

struct invented {
    double *times_ns;
    struct losses losses;
    struct sizes sizes;
};

/* The time of a configuration for a problem of n elements. */
typedef double invented_time(size_t configuration, double n);

/* At `sizes` sizes from 2^10 on, each `step` times the one before it. */
static inline void invented_init(struct invented *invented, invented_time *time,
                                 size_t configurations, size_t sizes, double step)
{
    *invented = (struct invented){
        .times_ns = alloc_zeroed(configurations * sizes, sizeof *invented->times_ns)};
    invented->sizes.axes = 1;
    for (size_t size = 0; size < sizes; size++) {
        int64_t n = llround(1024 * pow(step, (double)size));
        (void)sizes_add(&invented->sizes, &n);
        for (size_t i = 0; i < configurations; i++)
            invented->times_ns[i * sizes + size] = time(i, (double)n);
    }
    losses_init(&invented->losses, invented->times_ns, configurations, sizes);
}

/* Multiplies each time by 1 ± `share`, at random, and computes the losses anew. */
static inline void invented_disturb(struct invented *invented, double share, uint64_t seed)
{
    const size_t configurations = invented->losses.configurations;
    const size_t sizes = invented->losses.sizes;
    for (size_t i = 0; i < configurations * sizes; i++) {
        double random = (double)(statistics_random(&seed) >> 11) * 0x1p-53;
        if (invented->times_ns[i] > 0)
            invented->times_ns[i] *= 1 + share * (2 * random - 1);
    }
    losses_release(&invented->losses);
    losses_init(&invented->losses, invented->times_ns, configurations, sizes);
}

static inline void invented_select(const struct invented *invented, struct selection *selection,
                                   size_t limit)
{
    const size_t count = invented->losses.configurations * invented->losses.sizes;
    double *estimates = alloc_zeroed(count, sizeof *estimates);
    const struct selection_times times = {invented->times_ns, estimates};
    for (size_t i = 0; i < count; i++)
        estimates[i] = 1;
    selection_make(selection, &invented->losses, &times, &invented->sizes, limit);
    free(estimates);
}

static inline void invented_release(struct invented *invented)
{
    free(invented->times_ns);
    losses_release(&invented->losses);
    sizes_release(&invented->sizes);
}

#endif
