#include "cover/threshold.h"

#include "base/statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_threshold(double low, double high, bool whole, const char *expected)
{
    char text[THRESHOLD_TEXT_BYTES];
    assert_string_equal(threshold_text(threshold_between(low, high, whole), text), expected);
}

static void test_thresholds_are_round(void **state)
{
    (void)state;
    assert_threshold(1000, 2000, true, "2^10");
    assert_threshold(65536, 1048576, true, "2^18");
    assert_threshold(1025, 1999, true, "1536");
    assert_threshold(1030, 1400, true, "1200");
    assert_threshold(7, 8, true, "8");
    assert_threshold(0.4, 3.1, false, "1");
    assert_threshold(0.71, 0.84, false, "0.8");
    assert_threshold(0.71, 0.79, false, "0.75");
}

/* Whatever the two numbers, the threshold is above the lower one and not above the higher one. */
static void test_thresholds_separate(void **state)
{
    uint64_t random = 7;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        double a = exp2((double)(statistics_random(&random) % 3000) / 100);
        double b = a * exp2((double)(1 + statistics_random(&random) % 400) / 100);
        double threshold = threshold_between(a, b, false);
        assert_true(a < threshold && threshold <= b);
        a = floor(a);
        b = fmax(floor(b), a + 1);
        threshold = threshold_between(a, b, true);
        assert_true(a < threshold && threshold <= b && threshold == floor(threshold));
    }
    assert_true(threshold_between(0, 1, true) == 1);
    assert_true(threshold_between(1, nextafter(1, 2), false) == nextafter(1, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thresholds_are_round),
        cmocka_unit_test(test_thresholds_separate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
