#include "cover/cover.h"

#include "unit/cover/cover_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SIZES = 19 }; /* 2^10 … 2^28 */

static const struct cover_option *best_of(const struct cover *cover)
{
    return &cover->options[cover->best];
}

static void compute(struct cover *cover, struct invented *invented, size_t limit)
{
    cover_compute(cover, &invented->losses, &invented->features, NULL, limit);
}

/* 0 is the faster one below 2^16, 1 from 2^16 on, by more the farther away. */
static double two_halves(size_t configuration, double n)
{
    double distance = log2(n) - 15.5;
    bool faster = (configuration == 0) == (distance < 0);
    return n * (faster ? 1 : 1 + 0.05 * fabs(distance)) + (configuration > 1 ? 10 * n : 0);
}

static void test_a_rule_finds_where_two_curves_cross(void **state)
{
    struct invented invented;
    struct cover cover;
    (void)state;
    invented_init(&invented, two_halves, 4, SIZES, 2);
    compute(&cover, &invented, 4);
    const struct cover_option *option = best_of(&cover);
    assert_int_equal(cover.count, 2);
    assert_int_equal(option->count, 2);
    assert_int_equal(option->rule.count, 2);
    const struct rule_line *line = &option->rule.lines[0];
    assert_int_equal(line->test_count, 1);
    assert_true(line->tests[0].threshold == 65536);
    assert_int_equal(option->chosen[line->configuration], line->tests[0].below ? 0 : 1);
    assert_true(option->fitted.worst < 1e-9);
    cover_release(&cover);
    invented_release(&invented);
}

static double one_wins(size_t configuration, double n)
{
    return n * (configuration == 2 ? 1.0 : 1.2);
}

static void test_one_that_wins_everywhere_needs_no_rule(void **state)
{
    struct invented invented;
    struct cover cover;
    (void)state;
    invented_init(&invented, one_wins, 5, SIZES, 2);
    compute(&cover, &invented, 4);
    assert_int_equal(cover.count, 1);
    assert_int_equal(best_of(&cover)->chosen[0], 2);
    assert_int_equal(best_of(&cover)->rule.count, 1);
    assert_true(best_of(&cover)->expected.worst < 1e-9);
    cover_release(&cover);
    invented_release(&invented);
}

static double alike(size_t configuration, double n)
{
    (void)configuration;
    return n;
}

static void test_noise_alone_makes_no_rule(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        struct invented invented;
        struct cover cover;
        invented_init(&invented, alike, 6, SIZES, 2);
        invented_disturb(&invented, 0.004, seed);
        compute(&cover, &invented, 4);
        assert_int_equal(best_of(&cover)->rule.count, 1);
        assert_true(best_of(&cover)->expected.mean < 0.008);
        cover_release(&cover);
        invented_release(&invented);
    }
}

static void test_noise_does_not_hide_a_crossing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        struct invented invented;
        struct cover cover;
        invented_init(&invented, two_halves, 4, SIZES, 2);
        invented_disturb(&invented, 0.01, seed);
        compute(&cover, &invented, 4);
        assert_int_equal(best_of(&cover)->rule.count, 2);
        double threshold = best_of(&cover)->rule.lines[0].tests[0].threshold;
        assert_true(threshold >= 32768 && threshold <= 131072);
        cover_release(&cover);
        invented_release(&invented);
    }
}

/* 0 is 10 % faster, but fails outside of 2^14 … 2^20. */
static double fails_outside(size_t configuration, double n)
{
    if (configuration == 0)
        return n >= 16384 && n <= 1048576 ? n : TIME_FAILED;
    return n * 1.1;
}

static void test_a_rule_never_chooses_what_failed(void **state)
{
    struct invented invented;
    struct cover cover;
    (void)state;
    invented_init(&invented, fails_outside, 2, SIZES, 2);
    compute(&cover, &invented, 4);
    for (size_t i = 0; i < cover.count; i++)
        assert_true(cover.options[i].fitted.worst < 0.11);
    const struct cover_option *both = &cover.options[cover.count - 1];
    assert_int_equal(both->count, 2);
    for (size_t size = 0; size < SIZES; size++) {
        size_t choice = both->chosen[rule_decide(&both->rule, &invented.features, size)];
        assert_true(invented.times_ns[choice * SIZES + size] > 0);
    }
    cover_release(&cover);
    invented_release(&invented);
}

static void test_what_may_fail_at_sizes_left_out_is_not_shipped(void **state)
{
    struct invented invented;
    struct cover cover;
    (void)state;
    invented_init(&invented, fails_outside, 2, SIZES, 2);
    compute(&cover, &invented, 4);
    assert_true(best_of(&cover)->expected.worst < 0.11);
    cover_release(&cover);
    invented_release(&invented);
}

static void test_one_configuration_is_all_that_a_limit_of_one_allows(void **state)
{
    struct invented invented;
    struct cover cover;
    (void)state;
    invented_init(&invented, two_halves, 4, SIZES, 2);
    compute(&cover, &invented, 1);
    assert_int_equal(cover.count, 1);
    assert_int_equal(best_of(&cover)->count, 1);
    assert_int_equal(best_of(&cover)->rule.count, 1);
    assert_true(best_of(&cover)->expected.worst > 0.2);
    cover_release(&cover);
    invented_release(&invented);
}

static void test_one_size_gives_its_winner(void **state)
{
    struct invented invented;
    struct cover cover;
    (void)state;
    invented_init(&invented, two_halves, 4, 1, 2);
    compute(&cover, &invented, 4);
    assert_int_equal(cover.count, 1);
    assert_int_equal(best_of(&cover)->chosen[0], 0);
    assert_true(best_of(&cover)->expected.worst < 1e-9);
    cover_release(&cover);
    invented_release(&invented);
}

/* Three configurations for a range of m × n: 0 for small products; else 1 if m is at least n, 2 if
 * not. */
static size_t ideal(double m, double n)
{
    if (m * n < 65536)
        return 0;
    return m >= n ? 1 : 2;
}

static void test_a_rule_may_use_products_and_ratios(void **state)
{
    enum { SIDE = 7, PLACES = SIDE * SIDE, CONFIGURATIONS = 3 };
    double times_ns[CONFIGURATIONS * PLACES];
    struct features features = {0};
    struct losses losses;
    struct cover cover;
    (void)state;
    (void)features_add(&features, "m", PLACES);
    (void)features_add(&features, "n", PLACES);
    (void)features_add(&features, "m * n", PLACES);
    (void)features_add(&features, "m / n", PLACES);
    for (size_t i = 0; i < PLACES; i++) {
        double m = 32 * exp2((double)(i % SIDE));
        double n = 48 * exp2((double)(i / SIDE)); /* NOLINT(bugprone-integer-division) */
        features.items[0].values[i] = m;
        features.items[1].values[i] = n;
        features.items[2].values[i] = m * n;
        features.items[3].values[i] = m / n;
        for (size_t j = 0; j < CONFIGURATIONS; j++)
            times_ns[j * PLACES + i] = j == ideal(m, n) ? 1 : 1.2;
    }
    losses_init(&losses, times_ns, CONFIGURATIONS, PLACES, NULL);
    cover_compute(&cover, &losses, &features, NULL, 4);
    assert_int_equal(best_of(&cover)->count, 3);
    assert_true(best_of(&cover)->fitted.worst < 1e-9);
    assert_int_equal(best_of(&cover)->rule.count, 3);
    assert_true(best_of(&cover)->expected.mean < 0.02);
    cover_release(&cover);
    losses_release(&losses);
    features_release(&features);
}

/* 1 is much faster in a window; one line with two comparisons says so. */
static double window(size_t configuration, double n)
{
    bool inside = n >= 16384 && n < 1048576;
    return configuration == 1 && inside ? n : n * (configuration == 0 ? 1.3 : 1.6);
}

static void test_a_window_takes_few_lines(void **state)
{
    struct invented invented;
    struct cover cover;
    (void)state;
    invented_init(&invented, window, 2, SIZES, 2);
    compute(&cover, &invented, 2);
    assert_true(cover.options[1].fitted.worst < 1e-9);
    assert_int_equal(cover.options[1].rule.count, 2);
    assert_int_equal(cover.options[1].rule.lines[0].test_count, 2);
    cover_release(&cover);
    invented_release(&invented);
}

/* 1 is a little faster than 0 at sizes that nothing tells from the others. */
static double scattered(size_t configuration, double n)
{
    size_t number = (size_t)lround(log2(n)) % 7;
    return configuration == 1 && (number == 2 || number == 3)
               ? n
               : n * (1.02 + 0.2 * (double)configuration);
}

static void test_every_configuration_of_a_cover_is_chosen_somewhere(void **state)
{
    struct invented invented;
    struct cover cover;
    (void)state;
    invented_init(&invented, scattered, 3, SIZES, 2);
    compute(&cover, &invented, 3);
    const struct cover_option *option = best_of(&cover);
    for (size_t i = 0; i < option->count; i++) {
        bool used = false;
        for (size_t j = 0; j < option->rule.count; j++)
            used = used || option->rule.lines[j].configuration == i;
        assert_true(used);
    }
    cover_release(&cover);
    invented_release(&invented);
}

/* The feature that separates them belongs to a configuration that is not chosen. */
static void test_a_rule_does_not_look_at_launches_of_configurations_left_out(void **state)
{
    struct invented invented;
    struct cover cover;
    (void)state;
    invented_init(&invented, two_halves, 4, SIZES, 2);
    invented.features.items[0].configuration = 3;
    compute(&cover, &invented, 4);
    assert_int_equal(best_of(&cover)->rule.count, 1);
    cover_release(&cover);
    invented_release(&invented);
}

/* Tiles of 300 and of 200: which one is faster depends on how many are left over. */
static double tiled(size_t configuration, double n)
{
    return configuration == 0 ? 2000 + 500 * ceil(n / 300) : 2100 + 350 * ceil(n / 200);
}

static void test_estimates_know_of_what_is_left_over(void **state)
{
    enum { MANY = 40 };
    static const double tiles[] = {300, 200};
    struct invented invented;
    struct cover cover;
    struct time_basis basis = {.sizes = MANY};
    (void)state;
    invented_init(&invented, tiled, 2, MANY, 1.05);
    basis.times_ns = invented.times_ns;
    for (size_t i = 0; i < 4; i++) {
        struct feature *term = features_add(&basis.terms, i % 2 == 0 ? "1" : "waves", MANY);
        term->configuration = i / 2;
        for (size_t size = 0; size < MANY; size++)
            term->values[size] =
                i % 2 == 0 ? 1 : ceil(invented.features.items[0].values[size] / tiles[i / 2]);
    }
    cover_compute(&cover, &invented.losses, &invented.features, &basis, 2);
    assert_true(best_of(&cover)->rule.lines[0].tests[0].against);
    assert_true(best_of(&cover)->fitted.worst < 1e-9);
    assert_true(best_of(&cover)->expected.worst < 1e-9);
    cover_release(&cover);
    features_release(&basis.terms);
    invented_release(&invented);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_rule_finds_where_two_curves_cross),
        cmocka_unit_test(test_one_that_wins_everywhere_needs_no_rule),
        cmocka_unit_test(test_noise_alone_makes_no_rule),
        cmocka_unit_test(test_noise_does_not_hide_a_crossing),
        cmocka_unit_test(test_a_rule_never_chooses_what_failed),
        cmocka_unit_test(test_what_may_fail_at_sizes_left_out_is_not_shipped),
        cmocka_unit_test(test_one_configuration_is_all_that_a_limit_of_one_allows),
        cmocka_unit_test(test_one_size_gives_its_winner),
        cmocka_unit_test(test_a_rule_may_use_products_and_ratios),
        cmocka_unit_test(test_a_window_takes_few_lines),
        cmocka_unit_test(test_estimates_know_of_what_is_left_over),
        cmocka_unit_test(test_every_configuration_of_a_cover_is_chosen_somewhere),
        cmocka_unit_test(test_a_rule_does_not_look_at_launches_of_configurations_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
