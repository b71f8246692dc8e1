#include "report/analysis.h"

#include "report/report_text.h"

#include "unit/study_fixture.h"
#include "unit/test.h"

/* Of the test that runs; it begins with no results. */
static struct study study;
static struct importance importance;

static int enter(void **state)
{
    fixture_subject(&study);
    importance = (struct importance){0};
    return 0;
}

static int leave(void **state)
{
    importance_release(&importance);
    study_release(&study);
    return 0;
}

#define STUDY_TEST(function) UNIT_TEST_WITH(function, enter, leave)

/* --- importance --- */

static struct result *add(int64_t a, int64_t b, const char *word, double median_ns)
{
    struct result *result = ARRAY_APPEND(study.results, study.result_count);
    bindings_set(&result->parameters, "a", value_integer(a));
    bindings_set(&result->parameters, "b", value_integer(b));
    bindings_set(&result->parameters, "word", value_word(word));
    bindings_set(&result->parameters, "same", value_integer(1));
    if (median_ns > 0) {
        result->outcome = OUTCOME_MEASURED;
        fixture_times(result, median_ns);
    } else {
        result->outcome = OUTCOME_WRONG_RESULT;
    }
    return result;
}

static void check(const struct parameter_importance *parameter, const char *name, double alone,
                  double total)
{
    assert_string_equal(parameter->name, name);
    assert_float_equal(parameter->alone, alone, 1e-6);
    assert_float_equal(parameter->total, total, 1e-6);
}

/* time = 1000 * 4^a * 2^b: the logarithm is a sum, of which a has 4 parts in 5 and b one. */
STUDY_TEST(test_parameters_that_act_independently)
{
    for (int a = 1; a >= 0; a--)
        for (int b = 0; b < 2; b++)
            add(a, b, "on", 1000 * (a ? 4 : 1) * (b ? 2 : 1));
    importance_find(&study, &importance);
    assert_true(importance.of_time);
    assert_int_equal(importance.count, 2);
    assert_int_equal(importance.usable, 4);
    check(&importance.items[0], "a", 0.8, 0.8);
    check(&importance.items[1], "b", 0.2, 0.2);
    /* within a factor of two of the best there is a = 0 alone */
    assert_float_equal(importance.items[0].near, 0, 1e-6);
    assert_float_equal(importance.items[1].near, 1, 1e-6);
}

/* Fast where a equals b: neither says anything alone, each everything beside the other. */
STUDY_TEST(test_parameters_that_only_interact)
{
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++)
            add(a, b, "on", a == b ? 1000 : 8000);
    importance_find(&study, &importance);
    check(&importance.items[0], "a", 0, 1);
    check(&importance.items[1], "b", 0, 1);
}

STUDY_TEST(test_levels_have_their_best)
{
    bool largest = true;
    add(16, 0, "slow", 5000);
    add(2, 0, "fast", 2000);
    add(2, 1, "slow", 3000);
    add(16, 0, "broken", 0);
    add(128, 0, "fast", 2500);
    importance_find(&study, &importance);
    const struct parameter_importance *a = NULL;
    const struct parameter_importance *word = NULL;
    for (size_t i = 0; i < importance.count; i++) {
        if (strcmp(importance.items[i].name, "a") == 0)
            a = &importance.items[i];
        if (strcmp(importance.items[i].name, "word") == 0)
            word = &importance.items[i];
    }
    assert_non_null(a);
    assert_int_equal(a->level_count, 3); /* in order of the numbers */
    assert_int_equal(a->levels[0].value.as.integer, 2);
    assert_int_equal(a->levels[1].value.as.integer, 16);
    assert_int_equal(a->levels[2].value.as.integer, 128);
    assert_int_equal(a->levels[0].best, 1);
    assert_int_equal(a->levels[1].variants, 2);
    assert_int_equal(a->levels[1].usable, 1);
    assert_int_equal(a->levels[1].best, 0);
    assert_int_equal(parameter_best_level(&importance, a, &study), 0);
    assert_true(parameter_best_at_end(&importance, a, &study, &largest));
    assert_false(largest);
    assert_non_null(word);
    assert_int_equal(word->level_count, 3); /* in order of appearance */
    assert_string_equal(word->levels[2].value.as.word, "broken");
    assert_int_equal(word->levels[2].usable, 0);
    assert_false(
        parameter_best_at_end(&importance, word, &study, &largest)); /* words have no end */
}

/* Whether the report suggests values beyond the largest `a`, if the best with a = 1, 2, 4 takes so
 * long. */
static bool suggests_more(const double times_ns[3], const struct summary *slower, bool tied)
{
    bool largest = false;
    (void)leave(NULL);
    (void)enter(NULL);
    for (int i = 0; i < 3; i++) {
        add(1 << i, 0, "on", times_ns[i]);
        add(1 << i, 1, "on", 8 * times_ns[i]);
    }
    if (slower != NULL)
        study.results[2].time = *slower;
    study.results[2].tied = tied;
    importance_find(&study, &importance);
    const struct parameter_importance *a =
        &importance.items[strcmp(importance.items[0].name, "a") != 0];
    assert_string_equal(a->name, "a");
    bool suggested = parameter_best_at_end(&importance, a, &study, &largest);
    assert_true(!suggested || largest);
    return suggested;
}

STUDY_TEST(test_values_beyond_are_suggested_only_after_a_gain)
{
    const double falling[] = {4000, 2000, 1000};
    const double level[] = {4000, 1003, 1000};
    const double noisy[] = {4000, 1100, 1000};
    const struct summary wide = {.count = 3, .median_ns = 1100, .low_ns = 999, .high_ns = 1200};
    assert_true(suggests_more(falling, NULL, false));
    assert_true(suggests_more(noisy, NULL, false));
    assert_false(suggests_more(level, NULL, false));  /* within 0.5 % */
    assert_false(suggests_more(noisy, &wide, false)); /* within the noise */
    assert_false(suggests_more(noisy, NULL, true));   /* found a tie in the finals */
}

STUDY_TEST(test_static_mode_suggests_no_values_beyond)
{
    bool largest;
    study.environment.static_mode = true;
    for (int a = 1; a <= 4; a++) {
        struct result *result = add(a, 0, "on", 0);
        result->outcome = OUTCOME_COMPILED;
        fixture_figures(result, 32, 0);
        result->stats.occupancy = 0.25 * a;
    }
    importance_find(&study, &importance);
    assert_true(importance.items[0].total > 0.99);
    assert_false(parameter_best_at_end(&importance, &importance.items[0], &study, &largest));
}

STUDY_TEST(test_equal_times_explain_nothing)
{
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            add(a, b, "on", 1234.5);
    importance_find(&study, &importance);
    assert_int_equal(importance.count, 2);
    for (size_t i = 0; i < importance.count; i++) {
        check(&importance.items[i], i == 0 ? "a" : "b", 0, 0);
        assert_false(importance.varies);
        bool largest;
        assert_false(parameter_best_at_end(&importance, &importance.items[i], &study, &largest));
    }
}

/* Without the duplicates, b would seem to explain what only a does. */
STUDY_TEST(test_a_duplicate_counts_with_its_twins_time)
{
    for (int a = 0; a < 2; a++) {
        struct result *twin = add(a, a, "on", 1000 * (a + 1));
        (void)snprintf(twin->run_hash, sizeof twin->run_hash, "%d", a);
        twin = add(a, 1 - a, "on", 0);
        (void)snprintf(twin->run_hash, sizeof twin->run_hash, "%d", a);
        twin->outcome = OUTCOME_DUPLICATE;
    }
    study_link_twins(&study);
    importance_find(&study, &importance);
    assert_int_equal(importance.usable, 4);
    check(&importance.items[0], "a", 1, 1);
    check(&importance.items[1], "b", 0, 0);
}

/* --- improvements --- */

static void add_seen(enum outcome outcome, double median_ns, double seen_s)
{
    struct result *result = fixture_add(&study, (int64_t)study.result_count, "two_pass", outcome);
    result->time.median_ns = median_ns;
    result->seen_s = seen_s;
}

STUDY_TEST(those_that_were_faster_than_all_before_in_the_order_tried)
{
    size_t count;
    add_seen(OUTCOME_MEASURED, 50, 4);
    add_seen(OUTCOME_MEASURED, 90, 2);
    add_seen(OUTCOME_WRONG_RESULT, 0, 1);
    add_seen(OUTCOME_MEASURED, 95, 3);
    add_seen(OUTCOME_MEASURED, 40, 5);
    add_seen(OUTCOME_MEASURED, 10, 0); /* it is not known when */
    struct improvement *improvements = improvements_of(&study, &count);
    assert_int_equal(count, 3);
    assert_ptr_equal(improvements[0].result, &study.results[1]);
    assert_int_equal(improvements[0].number, 2);
    assert_ptr_equal(improvements[1].result, &study.results[0]);
    assert_int_equal(improvements[1].number, 4);
    assert_ptr_equal(improvements[2].result, &study.results[4]);
    assert_int_equal(improvements[2].number, 5);
    free(improvements);
}

STUDY_TEST(none_if_nothing_was_measured)
{
    size_t count;
    free(improvements_of(&study, &count));
    assert_int_equal(count, 0);
    add_seen(OUTCOME_FAULT, 0, 1);
    free(improvements_of(&study, &count));
    assert_int_equal(count, 0);
}
