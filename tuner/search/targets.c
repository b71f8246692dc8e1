#include "search/targets.h"

#include "base/alloc.h"
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>

/* Both of the logarithms of finite times. */
struct limits {
    double cut;
    double failed;
};

static struct limits find_limits(const double *times_ns, size_t count)
{
    double *sorted = alloc_zeroed(count, sizeof *sorted);
    size_t finite = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(times_ns[i]))
            sorted[finite++] = log(times_ns[i]);
    statistics_sort(sorted, finite);
    double median = statistics_quantile(sorted, finite, 0.5);
    struct limits limits = {.cut = median + 0.5 * (median - sorted[0])};
    limits.failed = fmin(statistics_quantile(sorted, finite, 0.75), limits.cut);
    free(sorted);
    return limits;
}

void targets_from_times(const double *times_ns, size_t count, double *targets)
{
    struct limits limits = find_limits(times_ns, count);
    double sum = 0;
    double square = 0;
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        targets[i] = NAN;
        if (isnan(times_ns[i]))
            continue;
        targets[i] = isinf(times_ns[i]) ? limits.failed : fmin(log(times_ns[i]), limits.cut);
        targets[i] -= limits.cut; /* near 0, so that squares keep their digits */
        sum += targets[i];
        square += targets[i] * targets[i];
        known++;
    }
    double mean = sum / (double)known;
    double deviation = sqrt(fmax(square / (double)known - mean * mean, 1e-12));
    for (size_t i = 0; i < count; i++)
        targets[i] = (targets[i] - mean) / deviation;
}
