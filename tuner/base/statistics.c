#include "base/statistics.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Up to this count the distribution of the signed-rank sum is counted. */
#define EXACT_SIGNED_RANK_LIMIT 25

/* Up to this count the binomial tail is summed; 0.5^count is still a normal double. */
#define EXACT_BINOMIAL_LIMIT 1000

/* The 0.975-quantile of the standard normal distribution. */
#define NORMAL_975 1.959963984540054

/* The ratio to a time of 0: far above any real ratio, but finite when summed. */
#define RATIO_LIMIT 1e9

/* CUDA events have a resolution of 32 ns on recent GPUs and 1.024 µs on older ones. */
#define LARGEST_TIMER_STEP_NS 1100.0

/* Samples within this relative difference differ only by single-precision rounding. */
#define SAME_READING 1e-6

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

void statistics_sort(double *samples, size_t count)
{
    qsort(samples, count, sizeof *samples, compare_doubles);
}

static double interpolate(double low, double high, double fraction)
{
    return low + fraction * (high - low);
}

double statistics_quantile(const double *sorted, size_t count, double q)
{
    double position = q * (double)(count - 1);
    size_t index = (size_t)position;
    if (index + 1 >= count)
        return sorted[count - 1];
    return interpolate(sorted[index], sorted[index + 1], position - (double)index);
}

static void swap(double *a, double *b)
{
    double kept = *a;
    *a = *b;
    *b = kept;
}

/*
 * The element of rank `rank` (from 0). Reorders `values` so that no element before it is larger and
 * none after it is smaller. Quickselect with a three-way partition, because a timer's samples have
 * many equal values.
 */
static double select_rank(double *values, size_t count, size_t rank)
{
    size_t begin = 0;
    size_t end = count;
    while (end - begin > 1) {
        double pivot = values[begin + (end - begin) / 2];
        size_t below = begin; /* values before this index are less than the pivot */
        size_t above = end;   /* values from this index on are greater */
        for (size_t i = begin; i < above;) {
            if (values[i] < pivot)
                swap(&values[below++], &values[i++]);
            else if (values[i] > pivot)
                swap(&values[--above], &values[i]);
            else
                i++;
        }
        if (rank < below)
            end = below;
        else if (rank >= above)
            begin = above;
        else
            break;
    }
    return values[rank];
}

/* statistics_quantile() of numbers in any order, which it reorders. */
static double quantile_of_unsorted(double *values, size_t count, double q)
{
    double position = q * (double)(count - 1);
    size_t rank = (size_t)position;
    double low = select_rank(values, count, rank);
    double fraction = position - (double)rank;
    if (rank + 1 >= count || !(fraction > 0))
        return low;
    double next = values[rank + 1];
    for (size_t i = rank + 2; i < count; i++)
        next = values[i] < next ? values[i] : next;
    return interpolate(low, next, fraction);
}

double statistics_median(const double *samples, size_t count)
{
    double *values = alloc_zeroed(count, sizeof *values);
    memcpy(values, samples, count * sizeof *values);
    double median = quantile_of_unsorted(values, count, 0.5);
    free(values);
    return median;
}

/*
 * The rank k (from 1) of the narrowest interval, from the k-th smallest to the k-th largest of
 * `count` samples, that contains the median with at least 95 % confidence: the largest k with
 * P(Binomial(count, 1/2) <= k - 1) <= 0.025. 0 if even the whole range does not (count < 6). David
 * and Nagaraja, Order Statistics (2003), section 7.1. Above EXACT_BINOMIAL_LIMIT, the normal
 * approximation with continuity correction.
 */
static size_t median_interval_rank(size_t count)
{
    double n = (double)count;
    if (count > EXACT_BINOMIAL_LIMIT)
        return (size_t)((n + 1.0 - NORMAL_975 * sqrt(n)) / 2.0);
    double probability = pow(0.5, n);
    double tail = probability;
    size_t rank = 0;
    while (tail <= 0.025) {
        probability *= (n - (double)rank) / (double)(rank + 1);
        tail += probability;
        rank++;
    }
    return rank;
}

struct summary statistics_summarise(const double *samples, size_t count)
{
    struct summary summary = {.count = count};
    if (count == 0)
        return summary;
    double *sorted = alloc_zeroed(count, sizeof *sorted);
    memcpy(sorted, samples, count * sizeof *sorted);
    statistics_sort(sorted, count);
    size_t rank = median_interval_rank(count);
    size_t index = rank > 0 ? rank - 1 : 0;
    summary.median_ns = statistics_quantile(sorted, count, 0.5);
    summary.low_ns = sorted[index];
    summary.high_ns = sorted[count - 1 - index];
    summary.minimum_ns = sorted[0];
    if (summary.median_ns > 0) {
        double quartile_range =
            statistics_quantile(sorted, count, 0.75) - statistics_quantile(sorted, count, 0.25);
        summary.relative_iqr = quartile_range / summary.median_ns;
    }
    free(sorted);
    return summary;
}

double statistics_timer_step_ns(const double *samples, size_t count)
{
    double *sorted = alloc_zeroed(count, sizeof *sorted);
    double step = INFINITY;
    if (count > 0)
        memcpy(sorted, samples, count * sizeof *sorted);
    statistics_sort(sorted, count);
    for (size_t i = 1; i < count; i++) {
        double difference = sorted[i] - sorted[i - 1];
        if (difference > SAME_READING * sorted[i])
            step = fmin(step, difference);
    }
    free(sorted);
    return step <= LARGEST_TIMER_STEP_NS ? step : 0.0;
}

double statistics_ratio(double a, double b)
{
    if (a == b)
        return 1.0;
    return b > 0 ? fmin(a / b, RATIO_LIMIT) : RATIO_LIMIT;
}

/* The median of a resample in which sorted[i] was drawn counts[i] times. */
static double counted_median(const double *sorted, const uint32_t *counts, size_t count)
{
    size_t lower_rank = (count - 1) / 2;
    size_t upper_rank = count / 2;
    size_t i = 0;
    size_t seen = counts[0];
    while (seen <= lower_rank)
        seen += counts[++i];
    double lower = sorted[i];
    while (seen <= upper_rank)
        seen += counts[++i];
    return (lower + sorted[i]) / 2.0;
}

/*
 * The medians of `resamples` resamples, drawn with replacement from `sorted`. Counting the draws of
 * each rank gives the median without sorting.
 */
static void resample_medians(const double *sorted, size_t count, double *medians,
                             unsigned resamples, uint64_t seed)
{
    uint32_t *counts = alloc_zeroed(count, sizeof *counts);
    uint64_t state = seed;
    for (unsigned r = 0; r < resamples; r++) {
        memset(counts, 0, count * sizeof *counts);
        uint64_t bits = 0;
        for (size_t i = 0; i < count; i++) {
            /* scale each half of a random number to a rank: no division; bias below
             * count / 2^32 */
            bits = i % 2 == 0 ? statistics_random(&state) : bits << 32;
            counts[((bits >> 32) * count) >> 32]++;
        }
        medians[r] = counted_median(sorted, counts, count);
    }
    free(counts);
}

uint64_t statistics_seed(uint64_t seed)
{
    uint64_t state = hash_mix(seed);
    return state != 0 ? state : 1;
}

/* The largest k with P(T < k) <= tail, T being the sum of those ranks from 1 to `count` for which a
 * coin shows heads. */
static size_t signed_rank_exact(size_t count, double tail)
{
    size_t most = count * (count + 1) / 2;
    double *chance = alloc_zeroed(most + 1, sizeof *chance); /* of each sum */
    chance[0] = 1;
    for (size_t rank = 1; rank <= count; rank++)
        for (size_t sum = rank * (rank + 1) / 2 + 1; sum-- > 0;)
            chance[sum] = (chance[sum] + (sum >= rank ? chance[sum - rank] : 0)) / 2;
    size_t k = 0;
    double below = chance[0];
    while (k < most && below <= tail)
        below += chance[++k];
    free(chance);
    return k;
}

/* The same from the normal distribution with the same mean and variance, continuity corrected. */
static size_t signed_rank_normal(size_t count, double tail)
{
    double n = (double)count;
    double mean = n * (n + 1) / 4;
    double width = sqrt(n * (n + 1) * (2 * n + 1) / 12); /* standard deviation times sqrt(2) */
    size_t low = 0;
    size_t high = (size_t)ceil(mean);
    while (low < high) {
        size_t k = low + (high - low) / 2;
        if (erfc((mean - (double)k - 0.5) / width) / 2 <= tail)
            low = k + 1;
        else
            high = k;
    }
    return low;
}

/* The geometric means of all pairs, and all numbers; free them. */
static double *pair_means(const double *values, size_t count)
{
    double *means = alloc_zeroed(count * (count + 1) / 2, sizeof *means);
    size_t filled = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j <= i; j++)
            means[filled++] = sqrt(values[i] * values[j]);
    return means;
}

double statistics_centre_estimate(const double *values, size_t count)
{
    double *means = pair_means(values, count);
    double estimate = quantile_of_unsorted(means, count * (count + 1) / 2, 0.5);
    free(means);
    return estimate;
}

struct interval statistics_centre(const double *values, size_t count, double tail)
{
    struct interval interval;
    size_t pairs = count * (count + 1) / 2;
    size_t middle = (pairs - 1) / 2; /* the first quantile leaves no larger mean before it */
    double *means = pair_means(values, count);
    size_t rank = count <= EXACT_SIGNED_RANK_LIMIT ? signed_rank_exact(count, tail)
                                                   : signed_rank_normal(count, tail);
    size_t index = rank > 0 ? rank - 1 : 0;
    interval.estimate = quantile_of_unsorted(means, pairs, 0.5);
    interval.low = select_rank(means, middle + 1, index);
    interval.high = select_rank(means + middle, pairs - middle, pairs - 1 - index - middle);
    free(means);
    return interval;
}

/* The medians of `resamples` resamples of `samples`; free the array. */
static double *bootstrap_medians(const double *samples, size_t count, unsigned resamples,
                                 uint64_t seed)
{
    double *sorted = alloc_zeroed(count, sizeof *sorted);
    double *medians = alloc_zeroed(resamples, sizeof *medians);
    memcpy(sorted, samples, count * sizeof *sorted);
    statistics_sort(sorted, count);
    resample_medians(sorted, count, medians, resamples, statistics_seed(seed));
    free(sorted);
    return medians;
}

struct interval statistics_median_ratio(const double *a, size_t a_count, const double *b,
                                        size_t b_count, unsigned resamples, uint64_t seed)
{
    struct interval interval;
    interval.estimate =
        statistics_ratio(statistics_median(a, a_count), statistics_median(b, b_count));
    interval.low = interval.high = interval.estimate;
    if (resamples == 0)
        return interval;
    double *ratios = bootstrap_medians(a, a_count, resamples, seed);
    double *divisors = bootstrap_medians(b, b_count, resamples, seed + 1);
    for (unsigned i = 0; i < resamples; i++)
        ratios[i] = statistics_ratio(ratios[i], divisors[i]);
    interval.low = quantile_of_unsorted(ratios, resamples, 0.025);
    interval.high = quantile_of_unsorted(ratios, resamples, 0.975);
    free(divisors);
    free(ratios);
    return interval;
}

/* Vigna, An experimental exploration of Marsaglia's xorshift generators, scrambled (2016). */
uint64_t statistics_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(2685821657736338717);
}

void statistics_shuffle(size_t *indices, size_t count, uint64_t *state)
{
    for (size_t left = count; left > 1; left--) {
        size_t chosen = random_below(state, left);
        size_t kept = indices[left - 1];
        indices[left - 1] = indices[chosen];
        indices[chosen] = kept;
    }
}
