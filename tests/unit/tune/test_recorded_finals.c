/*
 * The race on samples that were recorded on a GPU. Estimates and intervals that are expected here
 * were computed from the same numbers by another program (Python: the median of the means of all pairs
 * of logarithms, and the signed-rank test's exact distribution).
 */
#include "tune/race.h"
#include "unit/recorded_samples.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

#define assert_near(actual, expected, tolerance)                                                   \
    assert_true(fabs((actual) - (expected)) <= (tolerance))

/* Of these rounds and no more, each an observation, whatever the defaults are. */
static struct race_rules rules_of(size_t rounds)
{
    return (struct race_rules){.minimum_rounds = (unsigned)rounds,
                               .maximum_rounds = (unsigned)rounds,
                               .copies = (unsigned)rounds,
                               .confidence = 0.95};
}

/* The verdict on a pair after all of its rounds. The second has fewer registers: it wins ties. */
static struct verdict judge(const double *first, const double *second, size_t rounds,
                            struct contender contenders[2])
{
    const struct race_rules rules = rules_of(rounds);
    contenders[0] = (struct contender){
        .samples_ns = first, .count = rounds, .registers = 40, .block_threads = 256};
    contenders[1] = (struct contender){
        .samples_ns = second, .count = rounds, .registers = 32, .block_threads = 256, .order = 1};
    return race_judge(contenders, 2, &rules);
}

static struct interval ratio(const double *first, const double *second, size_t rounds)
{
    double ratios[150];
    assert_in_range(rounds, 1, LENGTH(ratios));
    for (size_t i = 0; i < rounds; i++)
        ratios[i] = statistics_ratio(second[i], first[i]);
    return statistics_centre(ratios, rounds, 0.025);
}

static void test_separated(void **state)
{
    (void)state;
    struct contender contenders[2];
    size_t rounds = LENGTH(separated_first);
    struct verdict verdict = judge(separated_first, separated_second, rounds, contenders);
    assert_true(verdict.decided);
    assert_int_equal(verdict.winner, 0);
    assert_int_equal(verdict.tie_count, 1);
    assert_true(contenders[1].out);
    struct interval interval = ratio(separated_first, separated_second, rounds);
    assert_near(interval.estimate, 1.024714, 1e-6);
    assert_near(interval.low, 1.008730, 1e-6);
    assert_near(interval.high, 1.046058, 1e-6);
}

static void test_tied(void **state)
{
    (void)state;
    struct contender contenders[2];
    size_t rounds = LENGTH(tied_first);
    struct verdict verdict = judge(tied_first, tied_second, rounds, contenders);
    assert_true(verdict.decided);
    assert_int_equal(verdict.tie_count, 2);
    assert_int_equal(verdict.winner, 1); /* by its registers */
    struct interval interval = ratio(tied_first, tied_second, rounds);
    assert_near(interval.estimate, 0.998428, 1e-6);
    assert_near(interval.low, 0.994489, 0.0002); /* from here on a normal approximation */
    assert_near(interval.high, 1.002663, 0.0002);
}

/* One falls by 2.5 % after its first twenty rounds: the first twenty alone would name the other. */
static void test_drifting(void **state)
{
    (void)state;
    struct contender contenders[2];
    size_t rounds = LENGTH(drifting_first);
    assert_near(statistics_median(drifting_second, 20), 6432, 0);
    assert_near(statistics_median(drifting_second + 20, 20), 6272, 0);
    assert_near(ratio(drifting_first, drifting_second, 20).estimate, 1.007484, 1e-6);
    struct interval whole = ratio(drifting_first, drifting_second, rounds);
    assert_near(whole.estimate, 1.002446, 1e-6);
    assert_near(whole.low, 0.994924, 0.0005);
    assert_near(whole.high, 1.007395, 0.0005);
    struct verdict verdict = judge(drifting_first, drifting_second, rounds, contenders);
    assert_true(verdict.decided);
    assert_int_equal(verdict.tie_count, 2);
}

/* Clocks that fall by a quarter over the finals hit both alike: the verdict is as without. */
static void test_drifting_together(void **state)
{
    (void)state;
    struct contender contenders[2];
    double first[LENGTH(separated_first)];
    double second[LENGTH(separated_first)];
    size_t rounds = LENGTH(separated_first);
    for (size_t i = 0; i < rounds; i++) {
        double slowdown = 1.0 + 0.025 * (double)i;
        first[i] = separated_first[i] * slowdown;
        second[i] = separated_second[i] * slowdown;
    }
    struct interval apart = statistics_median_ratio(second, rounds, first, rounds, 4000, 1);
    assert_true(apart.low < 1.0); /* unpaired they cannot be told apart */
    struct verdict verdict = judge(first, second, rounds, contenders);
    assert_int_equal(verdict.winner, 0);
    assert_int_equal(verdict.tie_count, 1);
    assert_near(ratio(first, second, rounds).estimate, 1.024714, 1e-6);
}

/* Modes 3 % apart, the slow one in 26 rounds of 60: by its median it is ahead, but not so that it
 * could be relied upon. */
static void test_bimodal(void **state)
{
    (void)state;
    struct contender contenders[2];
    size_t rounds = LENGTH(bimodal_first);
    size_t fast = 0;
    for (size_t i = 0; i < rounds; i++)
        fast += bimodal_second[i] < 6350;
    assert_int_equal(fast, 34);
    assert_near(statistics_median(bimodal_second, rounds), 6272, 0);
    struct interval interval = ratio(bimodal_first, bimodal_second, rounds);
    assert_near(interval.estimate, 1.002369, 1e-6);
    assert_near(interval.low, 0.992408, 0.0005);
    assert_near(interval.high, 1.007458, 0.0005);
    struct verdict verdict = judge(bimodal_first, bimodal_second, rounds, contenders);
    assert_int_equal(verdict.tie_count, 2);
    assert_false(contenders[0].out || contenders[1].out);
}

/* A power cap makes two rounds of the faster one 1.4 times as long. By the means it would lose. */
static void test_throttled(void **state)
{
    (void)state;
    struct contender contenders[2];
    size_t rounds = LENGTH(separated_first);
    double first[LENGTH(separated_first)];
    double sums[2] = {0, 0};
    memcpy(first, separated_first, sizeof first);
    first[1] *= 1.4;
    first[6] *= 1.4;
    for (size_t i = 0; i < rounds; i++) {
        sums[0] += first[i];
        sums[1] += separated_second[i];
    }
    assert_true(sums[0] > sums[1]);
    struct verdict verdict = judge(first, separated_second, rounds, contenders);
    assert_int_equal(verdict.winner, 0);
    assert_false(contenders[0].out);
    assert_near(ratio(first, separated_second, rounds).estimate, 1.011887, 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_separated), cmocka_unit_test(test_tied),
        cmocka_unit_test(test_drifting),  cmocka_unit_test(test_drifting_together),
        cmocka_unit_test(test_bimodal),   cmocka_unit_test(test_throttled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
