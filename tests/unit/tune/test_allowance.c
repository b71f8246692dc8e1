#include "tune/budget.h"

#include "base/event_loop.h"

#include "unit/test.h"

static const int64_t second = 1000000000;

/* From 0 to `end_s`, with a variant of which a sample takes `sample_ms` and a trial five times
 * that. */
static struct allowance allowance_of(double end_s, double sample_ms)
{
    struct allowance allowance;
    int64_t end_ns = (int64_t)(end_s * 1e9);
    allowance_begin(&allowance, 0, end_ns, end_ns);
    allowance_note(&allowance, sample_ms * 1e6, 0, 2 * sample_ms * 1e6, 3 * sample_ms * 1e6, 3);
    return allowance;
}

UNIT_TEST(without_a_limit_nothing_ends)
{
    struct allowance allowance = {0};
    allowance_note(&allowance, 1e6, 0, 1e6, 3e6, 3);
    assert_true(allowance_search_end(&allowance) == EVENT_NEVER);
    assert_true(allowance_look_end(&allowance) == EVENT_NEVER);
    assert_true(allowance_end(&allowance) == EVENT_NEVER);
    assert_false(allowance_has_more(&allowance, 0, 0));
    struct race_rules rules = race_rules_complete((struct race_rules){0});
    struct race_rules same = allowance_rules(&allowance, rules, 5 * second);
    assert_int_equal(same.finalists, rules.finalists);
    assert_int_equal(same.maximum_rounds, rules.maximum_rounds);
}

UNIT_TEST(until_something_is_measured_the_search_has_all_the_time)
{
    struct allowance allowance;
    allowance_begin(&allowance, 0, 10 * second, 15 * second);
    assert_true(allowance_search_end(&allowance) == 15 * second);
    allowance_note(&allowance, 1e6, 0, 1e6, 3e6, 3);
    assert_true(allowance_search_end(&allowance) < 10 * second);
}

UNIT_TEST(the_stages_come_one_after_the_other)
{
    static const double sample_ms[] = {0.01, 0.1, 1, 10, 100};
    static const double end_s[] = {1, 5, 60, 600};
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 4; j++) {
            struct allowance allowance = allowance_of(end_s[j], sample_ms[i]);
            int64_t search_end_ns = allowance_search_end(&allowance);
            int64_t look_end_ns = allowance_look_end(&allowance);
            assert_true(search_end_ns < look_end_ns);
            assert_true(look_end_ns < (int64_t)(end_s[j] * 1e9));
            /* at most a quarter for them, and two trials */
            assert_true((double)search_end_ns >= 0.75e9 * end_s[j] - 10.6e6 * sample_ms[i] - 1e6);
        }
}

UNIT_TEST(slow_kernels_get_short_finals_of_few)
{
    struct race_rules rules = race_rules_complete((struct race_rules){0});
    struct allowance fast = allowance_of(60, 0.1);
    struct race_rules all = allowance_rules(&fast, rules, 50 * second);
    assert_int_equal(all.finalists, rules.finalists);
    assert_int_equal(all.maximum_rounds, rules.maximum_rounds);
    struct allowance slow = allowance_of(60, 50);
    struct race_rules few = allowance_rules(&slow, rules, 51 * second);
    assert_true(few.finalists >= 2 && few.finalists < rules.finalists);
    assert_true(few.minimum_rounds <= few.maximum_rounds);
    double cost_s = few.finalists * (0.25 + few.maximum_rounds * 0.15);
    assert_true(cost_s <= 9.5);
    struct race_rules late = allowance_rules(&slow, rules, 61 * second); /* held all the same */
    assert_int_equal(late.finalists, 2);
    assert_int_equal(late.maximum_rounds, 1);
    assert_int_equal(late.minimum_rounds, 1);
}

UNIT_TEST(what_is_left_over_is_used_if_it_is_worth_it)
{
    struct allowance allowance = allowance_of(100, 1);
    assert_true(allowance_has_more(&allowance, 90 * second, second));
    assert_false(allowance_has_more(&allowance, 96 * second, second));
    assert_false(allowance_has_more(&allowance, 90 * second, 6 * second));
}

UNIT_TEST(only_the_fastest_counts)
{
    struct allowance allowance = allowance_of(100, 1);
    const double sample_ns = allowance.sample_ns;
    allowance_note(&allowance, 5e6, 0, 1e9, 1e9, 3);
    assert_true(allowance.sample_ns == sample_ns);
    allowance_note(&allowance, 5e5, 0, 1e6, 1.5e6, 3);
    assert_true(allowance.sample_ns == 5e5);
}
