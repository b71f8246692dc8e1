#include "search/search_estimate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { POINTS = 500 };

/* The best is point `best`; those before take twice as long, those after half as long again. */
static double estimate_after(size_t best, size_t count, size_t *in_vain)
{
    double times_ns[POINTS];
    for (size_t i = 0; i < count; i++)
        times_ns[i] = i < best ? 2000 : i == best ? 1000 : 1500;
    return search_estimate(times_ns, count, in_vain);
}

static void the_longer_in_vain_the_nearer(void **state)
{
    (void)state;
    size_t in_vain;
    assert_true(isnan(estimate_after(10, 50, &in_vain)));
    assert_int_equal(in_vain, 39);
    assert_true(estimate_after(10, 111, &in_vain) == 0.1);
    assert_true(estimate_after(10, 161, &in_vain) == 0.03);
    assert_true(estimate_after(10, 411, &in_vain) == 0.01);
    assert_int_equal(in_vain, 400);
    assert_true(isnan(estimate_after(490, 500, &in_vain)));
}

static void less_than_a_thousandth_is_no_improvement(void **state)
{
    (void)state;
    double times_ns[POINTS];
    size_t in_vain;
    for (size_t i = 0; i < POINTS; i++)
        times_ns[i] = 1000 - 0.0001 * (double)i;
    assert_true(search_estimate(times_ns, POINTS, &in_vain) == 0.01);
}

static void nothing_is_said_of_nothing(void **state)
{
    (void)state;
    double times_ns[POINTS];
    size_t in_vain;
    for (size_t i = 0; i < POINTS; i++)
        times_ns[i] = INFINITY;
    assert_true(isnan(search_estimate(times_ns, POINTS, &in_vain)));
    assert_true(isnan(search_estimate(times_ns, 0, &in_vain)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longer_in_vain_the_nearer),
        cmocka_unit_test(less_than_a_thousandth_is_no_improvement),
        cmocka_unit_test(nothing_is_said_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
