/*
 * Order statistics and bootstrap intervals of timing samples. Every function is deterministic and
 * has no global state; resampling takes a seed.
 */
#ifndef AUTOTUNE_STATISTICS_H
#define AUTOTUNE_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

/* A summary of samples in nanoseconds; all zero if count is 0. */
struct summary {
    size_t count;
    double median_ns;
    double low_ns; /* 95 % confidence interval of the median */
    double high_ns;
    double minimum_ns;
    double relative_iqr; /* (third quartile - first) / median; reports show it as the noise */
};

/* Sorts ascending, in place. */
void statistics_sort(double *samples, size_t count);

/* The q-quantile, 0 <= q <= 1, of count > 0 numbers in ascending order (linear interpolation, type
 * 7 of Hyndman and Fan). */
double statistics_quantile(const double *sorted, size_t count, double q);

/* The median of `count` > 0 numbers in any order. */
double statistics_median(const double *samples, size_t count);

/*
 * Summarises samples in any order. The interval is distribution-free (order statistics): exact
 * binomial ranks for up to 1000 samples, the normal approximation above. With fewer than 6 samples
 * it is the whole range, whose confidence is below 95 %.
 */
struct summary statistics_summarise(const double *samples, size_t count);

/*
 * The resolution of the timer behind the samples: the smallest difference between unequal samples.
 * 0 if all are equal or that difference is too large for a timer (above 1.1 µs).
 */
double statistics_timer_step_ns(const double *samples, size_t count);

/* An estimate with its confidence interval, 95 % unless stated otherwise. */
struct interval {
    double estimate;
    double low;
    double high;
};

/* a / b, always finite: equal times, zeros included, have the ratio 1, and ratios are capped at
 * 1e9. */
double statistics_ratio(double a, double b);

/*
 * The centre of positive numbers, such as ratios: the median of the geometric means of all pairs,
 * including each number with itself (Hodges and Lehmann's estimate). For normal noise it is nearly
 * as precise as the mean, while the median needs half as many samples again, and a few outliers
 * hardly move it. `low` and `high` come from the signed-rank test: if the numbers' logarithms are
 * distributed symmetrically, their centre is below `low` with a probability of at most `tail`, and
 * above `high` likewise (Hollander, Wolfe and Chicken 2014, sections 3.1 to 3.3). The test is exact
 * for up to 25 numbers, and a normal approximation for more. With fewer than log2(1 / tail)
 * numbers, the interval is their whole range, whose confidence is lower. `count` > 0 and `tail` <
 * 0.5; time and memory grow with the square of `count`.
 */
struct interval statistics_centre(const double *values, size_t count, double tail);

/* The estimate alone, in half the time. */
double statistics_centre_estimate(const double *values, size_t count);

/*
 * The ratio of the medians of two independent samples `a` and `b`, with its percentile-bootstrap
 * interval from `resamples` resamples: each side is resampled separately (Efron and Tibshirani 1993,
 * section 8.3 and chapter 13). Both counts are at least 1 and below 2^32. If both are 1 or
 * `resamples` is 0, the interval is the estimate.
 */
struct interval statistics_median_ratio(const double *a, size_t a_count, const double *b,
                                        size_t b_count, unsigned resamples, uint64_t seed);

/* The next number of the xorshift64* generator; `*state` must not be 0. */
uint64_t statistics_random(uint64_t *state);

/* A state for it, for any seed: not 0, and unrelated for neighbouring seeds. */
uint64_t statistics_seed(uint64_t seed);

/* 0 … `count` - 1, equally likely but for 2^-56 * count. Drops the lowest bits, the least random. */
static inline size_t random_below(uint64_t *state, size_t count)
{
    return (size_t)((statistics_random(state) >> 8) % count);
}

/* 0 … 1, without 1 itself. */
static inline double random_fraction(uint64_t *state)
{
    return (double)(statistics_random(state) >> 11) * 0x1p-53;
}

/* Shuffles indices in place (Fisher and Yates). */
void statistics_shuffle(size_t *indices, size_t count, uint64_t *state);

static inline size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

#endif
