#include "cover/selection.h"

#include "unit/cover/cover_fixture.h"
#include "unit/test.h"

enum { SIZES = 19 }; /* 2^10 … 2^28 */

static const struct selection_option *best_of(const struct selection *selection)
{
    return &selection->options[selection->best];
}

/* 0 is the faster one below 2^16, 1 from 2^16 on, by more the farther away. */
static double two_halves(size_t configuration, double n)
{
    double distance = log2(n) - 15.5;
    bool faster = (configuration == 0) == (distance < 0);
    return n * (faster ? 1 : 1 + 0.05 * fabs(distance)) + (configuration > 1 ? 10 * n : 0);
}

static void test_sizes_left_out_decide_where_two_curves_cross(void **state)
{
    struct invented invented;
    struct selection selection;
    invented_init(&invented, two_halves, 4, SIZES, 2);
    invented_select(&invented, &selection, 4);
    const struct selection_option *option = best_of(&selection);
    assert_int_equal(option->count, 2);
    assert_true(option->least.worst < 1e-9);
    for (size_t size = 0; size < SIZES; size++) {
        assert_int_equal(option->chosen[selection_fastest(option, &invented.losses, size)],
                         size >= 6);
        assert_true(option->expected_at[size] < 1e-9); /* interpolated */
    }
    selection_release(&selection);
    invented_release(&invented);
}

static double one_wins(size_t configuration, double n)
{
    return n * (configuration == 2 ? 1.0 : 1.2);
}

static void test_one_that_wins_everywhere_is_alone(void **state)
{
    struct invented invented;
    struct selection selection;
    invented_init(&invented, one_wins, 4, SIZES, 2);
    invented_select(&invented, &selection, 4);
    assert_int_equal(best_of(&selection)->count, 1);
    assert_int_equal(best_of(&selection)->chosen[0], 2);
    assert_true(best_of(&selection)->expected.worst < 1e-9);
    selection_release(&selection);
    invented_release(&invented);
}

static double all_alike(size_t configuration, double n)
{
    (void)configuration;
    return n;
}

static void test_noise_alone_does_not_make_two(void **state)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct invented invented;
        struct selection selection;
        invented_init(&invented, all_alike, 4, SIZES, 2);
        invented_disturb(&invented, 0.002, seed);
        invented_select(&invented, &selection, 4);
        assert_int_equal(best_of(&selection)->count, 1);
        selection_release(&selection);
        invented_release(&invented);
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

static void test_what_is_ruled_out_is_passed_over(void **state)
{
    struct invented invented;
    struct selection selection;
    invented_init(&invented, some_fail, 3, SIZES, 2);
    invented_select(&invented, &selection, 3);
    const struct selection_option *option = best_of(&selection);
    bool has[3] = {false};
    for (size_t i = 0; i < option->count; i++)
        has[option->chosen[i]] = true;
    assert_true(has[2] && option->count >= 2);
    for (size_t size = 0; size < SIZES; size++)
        assert_true(option->expected_at[size] < LOSS_FAILED);
    selection_release(&selection);
    invented_release(&invented);
}

/* 0 is 10 % faster, but fails outside of 2^14 … 2^20. */
static double fails_outside(size_t configuration, double n)
{
    if (configuration == 0)
        return n >= 16384 && n <= 1048576 ? n : TIME_FAILED;
    return n * 1.1;
}

static void test_what_may_fail_at_sizes_left_out_is_not_shipped(void **state)
{
    struct invented invented;
    struct selection selection;
    invented_init(&invented, fails_outside, 2, SIZES, 2);
    invented_select(&invented, &selection, 4);
    assert_true(best_of(&selection)->expected.worst < 0.11);
    selection_release(&selection);
    invented_release(&invented);
}

static void test_one_configuration_is_all_that_a_limit_of_one_allows(void **state)
{
    struct invented invented;
    struct selection selection;
    invented_init(&invented, two_halves, 4, SIZES, 2);
    invented_select(&invented, &selection, 1);
    assert_int_equal(selection.count, 1);
    assert_int_equal(best_of(&selection)->count, 1);
    selection_release(&selection);
    invented_release(&invented);
}

static void test_one_size_gives_its_winner(void **state)
{
    struct invented invented;
    struct selection selection;
    invented_init(&invented, one_wins, 4, 1, 2);
    invented_select(&invented, &selection, 4);
    assert_int_equal(selection.count, 1);
    assert_int_equal(best_of(&selection)->chosen[0], 2);
    assert_true(best_of(&selection)->expected.worst < 1e-9);
    selection_release(&selection);
    invented_release(&invented);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_left_out_decide_where_two_curves_cross),
        cmocka_unit_test(test_one_that_wins_everywhere_is_alone),
        cmocka_unit_test(test_noise_alone_does_not_make_two),
        cmocka_unit_test(test_what_is_ruled_out_is_passed_over),
        cmocka_unit_test(test_what_may_fail_at_sizes_left_out_is_not_shipped),
        cmocka_unit_test(test_one_configuration_is_all_that_a_limit_of_one_allows),
        cmocka_unit_test(test_one_size_gives_its_winner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
