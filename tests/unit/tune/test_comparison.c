/* Which variants all GPUs time, and what that says of them. */
#include "tune/team.h"

#include "unit/test.h"

UNIT_TEST(one_gpu_is_compared_with_nothing)
{
    struct comparison comparison;
    size_t slot;
    comparison_init(&comparison, 1);
    comparison_note(&comparison, 7, 0, 10);
    assert_false(comparison_next(&comparison, 0, &slot));
    comparison_release(&comparison);
}

/* Measures variants 0, 1, 2, …, each faster than those before, on GPU 0. */
static void measure(struct comparison *comparison, size_t count)
{
    for (size_t i = 0; i < count; i++)
        comparison_note(comparison, i, 0, 1e6 - (double)i);
}

UNIT_TEST(the_first_and_then_ever_fewer_are_compared)
{
    struct comparison comparison;
    comparison_init(&comparison, 2);
    measure(&comparison, 504);
    assert_in_range(comparison.count, 8, 10);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(comparison.variants[i].index, i);
    comparison_release(&comparison);
    comparison_init(&comparison, 2);
    measure(&comparison, 100000);
    assert_int_equal(comparison.count, COMPARED_MOST);
    comparison_release(&comparison);
}

UNIT_TEST(every_other_gpu_times_each_once)
{
    struct comparison comparison;
    size_t slot;
    comparison_init(&comparison, 3);
    comparison_note(&comparison, 5, 1, 100);
    assert_false(comparison_next(&comparison, 1, &slot));
    assert_true(comparison_has(&comparison, 0));
    assert_true(comparison_next(&comparison, 0, &slot));
    assert_false(comparison_next(&comparison, 0, &slot));
    comparison_again(&comparison, slot, 0); /* it was lost */
    assert_true(comparison_next(&comparison, 0, &slot));
    assert_true(comparison_next(&comparison, 2, &slot));
    size_t index;
    assert_true(comparison_close(&comparison, &index));
    assert_int_equal(index, 5);
    assert_false(comparison_close(&comparison, &index));
    comparison_release(&comparison);
}

UNIT_TEST(the_median_ratio_and_the_farthest_from_it_are_told)
{
    static const double on_other[] = {103, 106.09, 100.94};
    struct comparison comparison;
    struct study_gpu figures = {0};
    size_t slot;
    comparison_init(&comparison, 3);
    for (size_t i = 0; i < 3; i++) {
        comparison_note(&comparison, i, 0, 100);
        assert_true(comparison_next(&comparison, 1, &slot));
        comparison_take(&comparison, slot, 1, on_other[i]);
        assert_true(comparison_next(&comparison, 2, &slot));
        comparison_take(&comparison, slot, 2, -1);
    }
    comparison_judge(&comparison, 1, 0, &figures);
    assert_int_equal(figures.compared, 3);
    assert_int_equal(figures.failed, 0);
    assert_true(figures.ratio > 1.0299 && figures.ratio < 1.0301);
    assert_true(figures.spread > 0.0299 && figures.spread < 0.0301);
    comparison_judge(&comparison, 2, 0, &figures);
    assert_int_equal(figures.compared, 0);
    assert_int_equal(figures.failed, 3);
    assert_true(figures.ratio == 0);
    comparison_release(&comparison);
}
