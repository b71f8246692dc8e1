/*
 * Order statistics and bootstrap intervals of timing samples. Pure functions of their arguments: no
 * clock, no global state, the same answer every time (resampling is seeded).
 */
#ifndef AUTOTUNE_STATISTICS_H
#define AUTOTUNE_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

/* A summary of samples in nanoseconds. All zero where count is 0. */
struct summary {
    size_t count;
    double median_ns;
    double low_ns; /* 95 % confidence interval of the median */
    double high_ns;
    double minimum_ns;
    double relative_iqr; /* (third quartile - first) / median: the noise figure of the reports */
};

/* The q-quantile, 0 <= q <= 1, of count > 0 numbers that are sorted ascending (linear interpolation,
 * Hyndman and Fan's type 7). */
double statistics_quantile(const double *sorted, size_t count, double q);

/* Median of `count` > 0 numbers in any order; does not change them. */
double statistics_median(const double *samples, size_t count);

/*
 * Summarises samples in any order. The interval is distribution-free, from order statistics (binomial,
 * exact for small counts): with fewer than 6 samples it is the whole range.
 */
struct summary statistics_summarise(const double *samples, size_t count);

/* An estimate with its 95 % bootstrap interval. */
struct interval {
    double estimate;
    double low;
    double high;
};

/*
 * The median of the paired ratios a[i] / b[i], with its percentile-bootstrap interval
 * (`resamples` draws from the generator seeded with `seed`; Efron and Tibshirani 1993, chapter 13).
 * Pairing cancels drift that hits both alike. `count` >= 1; with 1 the interval is the estimate.
 */
struct interval statistics_paired_ratio(const double *a, const double *b, size_t count,
                                        unsigned resamples, uint64_t seed);

/* xorshift64*-style generator for shuffles and resampling; `*state` must not be 0. */
uint64_t statistics_random(uint64_t *state);

/* Shuffles indices in place (Fisher and Yates). */
void statistics_shuffle(size_t *indices, size_t count, uint64_t *state);

#endif
