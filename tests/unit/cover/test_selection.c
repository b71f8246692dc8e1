#include "cover/selection.h"

#include "unit/cover/cover_fixture.h"
#include "unit/test.h"

enum { SIZES = 19 }; /* 2^10 … 2^28 */

static struct invented invented;
static struct selection selection;

static int leave(void **state)
{
    selection_release(&selection);
    invented_release(&invented);
    selection = (struct selection){0};
    invented = (struct invented){0};
    return 0;
}

/* Selects at most `limit` of so many configurations. */
static const struct selection_option *select_of(invented_time *time, size_t configurations,
                                                size_t sizes, size_t limit)
{
    invented_init(&invented, time, configurations, sizes, 2);
    invented_select(&invented, &selection, limit);
    return &selection.options[selection.best];
}

/* 0 is the faster one below 2^16, 1 from 2^16 on, by more the farther away. */
static double two_halves(size_t configuration, double n)
{
    double distance = log2(n) - 15.5;
    bool faster = (configuration == 0) == (distance < 0);
    return n * (faster ? 1 : 1 + 0.05 * fabs(distance)) + (configuration > 1 ? 10 * n : 0);
}

UNIT_TEST_WITH(test_sizes_left_out_decide_where_two_curves_cross, NULL, leave)
{
    const struct selection_option *best = select_of(two_halves, 4, SIZES, 4);
    assert_int_equal(best->count, 2);
    assert_true(best->least.worst < 1e-9);
    for (size_t size = 0; size < SIZES; size++) {
        assert_int_equal(best->chosen[selection_fastest(best, &invented.losses, size)], size >= 6);
        assert_true(best->expected_at[size] < 1e-9); /* interpolated */
    }
}

static double one_wins(size_t configuration, double n)
{
    return n * (configuration == 2 ? 1.0 : 1.2);
}

UNIT_TEST_WITH(test_one_that_wins_everywhere_is_alone, NULL, leave)
{
    const struct selection_option *best = select_of(one_wins, 4, SIZES, 4);
    assert_int_equal(best->count, 1);
    assert_int_equal(best->chosen[0], 2);
    assert_true(best->expected.worst < 1e-9);
}

static double all_alike(size_t configuration, double n)
{
    return n;
}

UNIT_TEST_WITH(test_noise_alone_does_not_make_two, NULL, leave)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        invented_init(&invented, all_alike, 4, SIZES, 2);
        invented_disturb(&invented, 0.002, seed);
        invented_select(&invented, &selection, 4);
        assert_int_equal(selection.options[selection.best].count, 1);
        (void)leave(NULL);
    }
}

/* 1 is faster, but fails at the largest size, and a constraint rules 2, the fastest, out at every second. */
static double some_fail(size_t configuration, double n)
{
    if (configuration == 1 && n > 1 << 27)
        return TIME_FAILED;
    if (configuration == 2 && (size_t)log2(n) % 2 == 1)
        return TIME_RULED_OUT;
    return n * (1.3 - 0.1 * (double)configuration);
}

UNIT_TEST_WITH(test_what_is_ruled_out_is_passed_over, NULL, leave)
{
    const struct selection_option *best = select_of(some_fail, 3, SIZES, 3);
    bool has[3] = {false};
    for (size_t i = 0; i < best->count; i++)
        has[best->chosen[i]] = true;
    assert_true(has[2] && best->count >= 2);
    for (size_t size = 0; size < SIZES; size++)
        assert_true(best->expected_at[size] < LOSS_FAILED);
}

/* 0 is 10 % faster, but fails outside of 2^14 … 2^20. */
static double fails_outside(size_t configuration, double n)
{
    if (configuration == 0)
        return n >= 16384 && n <= 1048576 ? n : TIME_FAILED;
    return n * 1.1;
}

UNIT_TEST_WITH(test_what_may_fail_at_sizes_left_out_is_not_shipped, NULL, leave)
{
    const struct selection_option *best = select_of(fails_outside, 2, SIZES, 4);
    assert_true(best->expected.worst < 0.11);
}

UNIT_TEST_WITH(test_one_configuration_is_all_that_a_limit_of_one_allows, NULL, leave)
{
    const struct selection_option *best = select_of(two_halves, 4, SIZES, 1);
    assert_int_equal(selection.count, 1);
    assert_int_equal(best->count, 1);
}

UNIT_TEST_WITH(test_one_size_gives_its_winner, NULL, leave)
{
    const struct selection_option *best = select_of(one_wins, 4, 1, 4);
    assert_int_equal(selection.count, 1);
    assert_int_equal(best->chosen[0], 2);
    assert_true(best->expected.worst < 1e-9);
}
