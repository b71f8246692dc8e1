#include "base/statistics.h"

#include "unit/test.h"

#include <math.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* Equal within `tolerance`, and so no NaN. cmocka has had this for doubles only since 2.0. */
#define assert_near(actual, expected, tolerance)                                                   \
    assert_true(fabs((actual) - (expected)) <= (tolerance))

/* Uniform in (0, 1). */
static double uniform(uint64_t *state)
{
    return ((double)(statistics_random(state) >> 11) + 0.5) / 9007199254740992.0;
}

/* Selection, which the median uses, and sorting must agree on every shape of data. */
UNIT_TEST(test_median_agrees_with_sorting)
{
    uint64_t random = 7;
    for (size_t count = 1; count <= 200; count++) {
        double samples[200];
        uint64_t distinct = 1 + statistics_random(&random) % 300; /* from all equal to no ties */
        for (size_t i = 0; i < count; i++)
            samples[i] = (double)(statistics_random(&random) % distinct);
        double median = statistics_median(samples, count);
        statistics_sort(samples, count);
        for (size_t i = 1; i < count; i++)
            assert_true(samples[i - 1] <= samples[i]);
        assert_near(median, statistics_quantile(samples, count, 0.5), 0);
    }
}

/* Ranks of the 95 % interval as tabulated for the sign test; the last three by the approximation.
 */
UNIT_TEST(test_interval_ranks)
{
    static const struct {
        size_t count, low, high;
    } cases[] = {{1, 1, 1},          {2, 1, 2},        {5, 1, 5},        {6, 1, 6},
                 {8, 1, 8},          {9, 2, 8},        {10, 2, 9},       {15, 4, 12},
                 {20, 6, 15},        {25, 8, 18},      {30, 10, 21},     {60, 22, 39},
                 {100, 40, 61},      {1000, 469, 532}, {1001, 469, 533}, {2000, 956, 1045},
                 {10000, 4902, 5099}};
    static double samples[10000];
    for (size_t i = 0; i < LENGTH(samples); i++)
        samples[i] = (double)(i + 1);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct summary summary = statistics_summarise(samples, cases[i].count);
        assert_near(summary.low_ns, (double)cases[i].low, 0);
        assert_near(summary.high_ns, (double)cases[i].high, 0);
    }
}

/* Timings are skewed to the right; so is the exponential distribution, whose median is ln 2. */
UNIT_TEST(test_interval_covers_the_median)
{
    const size_t counts[] = {10, 25, 60};
    uint64_t random = 2024;
    for (size_t c = 0; c < LENGTH(counts); c++) {
        int covered = 0;
        for (int draw = 0; draw < 1000; draw++) {
            double samples[60];
            for (size_t i = 0; i < counts[c]; i++)
                samples[i] = 1000.0 - log(uniform(&random));
            struct summary summary = statistics_summarise(samples, counts[c]);
            double truth = 1000.0 + log(2.0);
            covered += summary.low_ns <= truth && truth <= summary.high_ns;
        }
        assert_in_range(covered, 900, 990);
    }
}

UNIT_TEST(test_bootstrap_covers_the_ratio)
{
    uint64_t random = 99;
    int covered = 0;
    for (uint64_t draw = 0; draw < 1000; draw++) {
        double a[30];
        double b[30];
        for (int i = 0; i < 30; i++) {
            a[i] = 1020.0 * (1.0 + 0.02 * (uniform(&random) - 0.5));
            b[i] = 1000.0 * (1.0 + 0.02 * (uniform(&random) - 0.5));
        }
        struct interval interval = statistics_median_ratio(a, 30, b, 30, 500, draw);
        covered += interval.low <= 1.02 && 1.02 <= interval.high;
    }
    assert_in_range(covered, 900, 990);
}

/*
 * Powers of two: the logarithms of pairs' means are the halves from 0 to 9. Of ten numbers, P(T < 9) =
 * 0.0244 (Hollander, Wolfe and Chicken, table A.4): the interval runs from the ninth smallest mean
 * to the ninth largest.
 */
UNIT_TEST(test_centre_of_known_distribution)
{
    double values[10];
    for (int i = 0; i < 10; i++)
        values[i] = ldexp(1, i);
    struct interval interval = statistics_centre(values, 10, 0.025);
    assert_near(interval.estimate, ldexp(sqrt(2), 4), 1e-12);
    assert_near(interval.low, 4, 1e-12);
    assert_near(interval.high, 128, 1e-12);
    interval = statistics_centre(values, 10, 1.0 / 1024); /* the whole range, and justly */
    assert_near(interval.low, 1, 0);
    assert_near(interval.high, 512, 0);
    interval = statistics_centre(values, 10, 2.0 / 1024);
    assert_near(interval.low, sqrt(2), 1e-12);
    interval = statistics_centre(values, 1, 0.025);
    assert_near(interval.estimate, 1, 0);
    assert_near(interval.low, 1, 0);
    assert_near(interval.high, 1, 0);
}

/* Exactly, and by the normal approximation. */
UNIT_TEST(test_centre_is_covered_as_often_as_it_says)
{
    const size_t counts[] = {10, 25, 26, 60};
    uint64_t random = 4;
    for (size_t c = 0; c < LENGTH(counts); c++) {
        int covered = 0;
        for (int draw = 0; draw < 400; draw++) {
            double values[60];
            for (size_t i = 0; i < counts[c]; i++)
                values[i] = exp(uniform(&random) + uniform(&random) - 1);
            struct interval interval = statistics_centre(values, counts[c], 0.025);
            covered += interval.low <= 1 && 1 <= interval.high;
        }
        assert_in_range(covered, 370, 393);
    }
}

UNIT_TEST(test_timer_step)
{
    const double samples[] = {320, 416, 320.00001, 352, 1000000};
    assert_near(statistics_timer_step_ns(samples, 5), 32, 1e-4);
    const double far[] = {1000, 5000};
    assert_near(statistics_timer_step_ns(far, 2), 0, 0);
    assert_near(statistics_timer_step_ns(samples, 1), 0, 0);
    assert_near(statistics_timer_step_ns(NULL, 0), 0, 0);
}

/* Each of the 6 orders of 3 is as likely as the others: 1000 expected of 6000, sigma 29. */
UNIT_TEST(test_shuffle_is_fair)
{
    uint64_t random = 11;
    int seen[27] = {0};
    for (int i = 0; i < 6000; i++) {
        size_t indices[] = {0, 1, 2};
        statistics_shuffle(indices, 3, &random);
        assert_int_equal(indices[0] + indices[1] + indices[2], 3);
        seen[9 * indices[0] + 3 * indices[1] + indices[2]]++;
    }
    const int orders[] = {5, 7, 11, 15, 19, 21}; /* 012 021 102 120 201 210 in base 3 */
    for (size_t i = 0; i < LENGTH(orders); i++)
        assert_in_range(seen[orders[i]], 880, 1120);
    statistics_shuffle(NULL, 0, &random);
}
