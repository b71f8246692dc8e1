#include "tune/budget.h"

#include "unit/test.h"

static const int64_t second = 1000000000;

UNIT_TEST(the_command_line_goes_before_the_kernel_and_the_kernel_before_the_sweep)
{
    struct sweep sweep = {.limits = {.budget_s = 60, .evaluations = 100}};
    struct sweep_kernel kernel = {0};
    struct run_limits limits = {.sweep = &sweep};
    assert_true(run_limits_of(&limits, &kernel).budget_s == 60);
    assert_int_equal(run_limits_of(&limits, &kernel).evaluations, 100);
    kernel.limits.evaluations = 20;
    kernel.limits.budget_s = 5;
    assert_true(run_limits_of(&limits, &kernel).budget_s == 5);
    assert_int_equal(run_limits_of(&limits, &kernel).evaluations, 20);
    limits.asked.evaluations = 7;
    assert_true(run_limits_of(&limits, &kernel).budget_s == 5);
    assert_int_equal(run_limits_of(&limits, &kernel).evaluations, 7);
}

UNIT_TEST(no_limit_no_end)
{
    const struct sweep sweep = {0};
    const struct sweep_kernel kernel = {0};
    struct run_limits limits = {.sweep = &sweep, .begin_ns = second};
    assert_true(run_limits_end_ns(&limits, &kernel, 5 * second, 3, 1) == 0);
}

/* 97 of 100 s are for tuning. */
UNIT_TEST(problems_share_what_is_left_of_the_run)
{
    const struct sweep sweep = {.limits.budget_s = 100};
    const struct sweep_kernel kernel = {0};
    struct run_limits limits = {.sweep = &sweep, .begin_ns = 10 * second};
    assert_true(run_limits_end_ns(&limits, &kernel, 17 * second, 3, 3) == 47 * second);
    assert_true(run_limits_end_ns(&limits, &kernel, 27 * second, 2, 2) == 67 * second);
    assert_true(run_limits_end_ns(&limits, &kernel, 67 * second, 1, 1) == 107 * second);
    assert_true(run_limits_end_ns(&limits, &kernel, 200 * second, 1, 1) == 107 * second);
}

UNIT_TEST(a_kernel_s_budget_is_its_problems_alone)
{
    const struct sweep sweep = {0};
    const struct sweep_kernel first = {.limits.budget_s = 100};
    const struct sweep_kernel second_kernel = {.limits.budget_s = 200};
    struct run_limits limits = {.sweep = &sweep, .begin_ns = 0};
    /* the first includes what came before it */
    assert_true(run_limits_end_ns(&limits, &first, 7 * second, 3, 1) == 97 * second);
    assert_true(run_limits_end_ns(&limits, &second_kernel, 50 * second, 2, 2) == 147 * second);
    assert_true(run_limits_end_ns(&limits, &second_kernel, 144 * second, 1, 1) == 244 * second);
}
