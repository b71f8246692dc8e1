#include "cover/rule_text.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* Features: n, n % 4, the waves of candidate 7, and the times of candidates 3 and 7. */
static void features_init(struct features *features)
{
    *features = (struct features){0};
    features_add(features, "n", 1)->whole = true;
    features_add(features, "n % 4", 1)->whole = true;
    features_add(features, "waves", 1)->configuration = 7;
    features_add(features, "time", 1)->configuration = 3;
    features_add(features, "time", 1)->configuration = 7;
}

static void assert_text(const struct rule_line *line, const char *expected)
{
    static const size_t chosen[] = {3, 7};
    struct features features;
    features_init(&features);
    char *text = rule_text(line, &features, chosen, 2);
    if (expected == NULL)
        assert_null(text);
    else
        assert_string_equal(text, expected);
    free(text);
    features_release(&features);
}

static void test_conditions_are_written_as_the_tuned_ini_has_them(void **state)
{
    (void)state;
    assert_text(&(struct rule_line){.configuration = 1}, NULL);
    assert_text(&(struct rule_line){.tests = {{0, true, 1048576}}, .test_count = 1}, "n < 2^20");
    assert_text(&(struct rule_line){.tests = {{0, false, 1536}, {1, true, 1}}, .test_count = 2},
                "n >= 1536 and n % 4 == 0");
    assert_text(&(struct rule_line){.tests = {{1, false, 1}}, .test_count = 1}, "n % 4 != 0");
}

static void test_a_launch_other_than_the_choice_s_own_is_named(void **state)
{
    (void)state;
    const struct rule_line own = {.tests = {{2, false, 1.5}}, .test_count = 1, .configuration = 1};
    const struct rule_line other = {
        .tests = {{2, false, 1.5}}, .test_count = 1, .configuration = 0};
    assert_text(&own, "waves >= 1.5");
    assert_text(&other, "waves(2) >= 1.5");
}

static void test_estimates_are_figures_of_the_configurations(void **state)
{
    const struct rule_line one = {.tests = {{.feature = 3, .against = true, .other = 4}},
                                  .test_count = 1};
    const struct rule_line two = {.tests = {{.feature = 4, .against = true, .other = 3},
                                            {.feature = 4, .against = true, .other = 4}},
                                  .test_count = 2,
                                  .configuration = 1};
    (void)state;
    assert_text(&one, "time_1 <= time_2(2)");
    assert_text(&two, "time_2 <= min(time_1(1), time_2(2))");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conditions_are_written_as_the_tuned_ini_has_them),
        cmocka_unit_test(test_a_launch_other_than_the_choice_s_own_is_named),
        cmocka_unit_test(test_estimates_are_figures_of_the_configurations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
