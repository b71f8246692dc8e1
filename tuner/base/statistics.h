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

/* Sorts ascending, in place. */
void statistics_sort(double *samples, size_t count);

/* The q-quantile, 0 <= q <= 1, of count > 0 numbers that are sorted ascending (linear
 * interpolation, Hyndman and Fan's type 7). */
double statistics_quantile(const double *sorted, size_t count, double q);

/* Median of `count` > 0 numbers in any order; does not change them. */
double statistics_median(const double *samples, size_t count);

/*
 * Summarises samples in any order. The interval is distribution-free, from order statistics: exact
 * binomial ranks for up to 1000 samples, their normal approximation above. With fewer than 6
 * samples it is the whole range, which holds the median with less than 95 % confidence.
 */
struct summary statistics_summarise(const double *samples, size_t count);

/*
 * The step of the timer that the samples come from: the smallest difference between unequal ones. 0
 * where all are equal or they are too far apart for a timer's step (1.1 µs).
 */
double statistics_timer_step_ns(const double *samples, size_t count);

/* An estimate with its bootstrap interval, of 95 % unless said otherwise. */
struct interval {
    double estimate;
    double low;
    double high;
};

/*
 * The median of the paired ratios a[i] / b[i], with its percentile-bootstrap interval
 * of `confidence`, from 0 to 1 (`resamples` draws from the generator seeded with `seed`; Efron and Tibshirani 1993, chapter 13).
 * Pairing cancels drift that hits both alike. `count` >= 1, below 2^32; with 1, or without
 * resamples, the interval is the estimate. Always finite: equal times have the ratio 1, zeros too,
 * and no ratio exceeds 1e9.
 */
struct interval statistics_paired_ratio(const double *a, const double *b, size_t count,
                                        double confidence, unsigned resamples, uint64_t seed);

/*
 * The ratio of the medians of `a` and `b`, which were taken independently of each other, with its
 * percentile-bootstrap interval: each side is resampled by itself (Efron and Tibshirani 1993,
 * section 8.3). Counts, seed and finiteness as above; both counts 1 or more.
 */
struct interval statistics_median_ratio(const double *a, size_t a_count, const double *b,
                                        size_t b_count, unsigned resamples, uint64_t seed);

/* The next number of the xorshift64* generator; `*state` must not be 0. */
uint64_t statistics_random(uint64_t *state);

/* Shuffles indices in place (Fisher and Yates). */
void statistics_shuffle(size_t *indices, size_t count, uint64_t *state);

#endif
