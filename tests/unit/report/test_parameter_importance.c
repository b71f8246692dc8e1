#include "report/parameter_importance.h"
#include "unit/study_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct result *add(struct study *study, int64_t a, int64_t b, const char *word,
                          double median_ns)
{
    struct result *result = ARRAY_APPEND(study->results, study->result_count);
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

static void check(const struct importance *effect, const char *name, double alone, double total)
{
    assert_string_equal(effect->name, name);
    assert_float_equal(effect->alone, alone, 1e-6);
    assert_float_equal(effect->total, total, 1e-6);
}

/* time = 1000 * 4^a * 2^b: the logarithm is a sum, of which a has 4 parts in 5 and b one. */
static void test_parameters_that_act_independently(void **state)
{
    (void)state;
    struct study study;
    struct importances effects;
    fixture_subject(&study);
    for (int a = 1; a >= 0; a--)
        for (int b = 0; b < 2; b++)
            add(&study, a, b, "on", 1000 * (a ? 4 : 1) * (b ? 2 : 1));
    importances_find(&study, &effects);
    assert_true(effects.of_time);
    assert_int_equal(effects.count, 2);
    assert_int_equal(effects.usable, 4);
    check(&effects.items[0], "a", 0.8, 0.8);
    check(&effects.items[1], "b", 0.2, 0.2);
    /* within a factor of two of the best there is a = 0 alone */
    assert_float_equal(effects.items[0].near, 0, 1e-6);
    assert_float_equal(effects.items[1].near, 1, 1e-6);
    importances_release(&effects);
    study_release(&study);
}

/* Fast where a equals b: neither says anything alone, each everything beside the other. */
static void test_parameters_that_only_interact(void **state)
{
    (void)state;
    struct study study;
    struct importances effects;
    fixture_subject(&study);
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++)
            add(&study, a, b, "on", a == b ? 1000 : 8000);
    importances_find(&study, &effects);
    check(&effects.items[0], "a", 0, 1);
    check(&effects.items[1], "b", 0, 1);
    importances_release(&effects);
    study_release(&study);
}

static void test_levels_have_their_best(void **state)
{
    (void)state;
    struct study study;
    struct importances effects;
    bool largest = true;
    fixture_subject(&study);
    add(&study, 16, 0, "slow", 5000);
    add(&study, 2, 0, "fast", 2000);
    add(&study, 2, 1, "slow", 3000);
    add(&study, 16, 0, "broken", 0);
    add(&study, 128, 0, "fast", 2500);
    importances_find(&study, &effects);
    const struct importance *a = NULL;
    const struct importance *word = NULL;
    for (size_t i = 0; i < effects.count; i++) {
        if (strcmp(effects.items[i].name, "a") == 0)
            a = &effects.items[i];
        if (strcmp(effects.items[i].name, "word") == 0)
            word = &effects.items[i];
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
    assert_int_equal(importance_best_level(&effects, a, &study), 0);
    assert_true(importance_best_at_end(&effects, a, &study, &largest));
    assert_false(largest);
    assert_non_null(word);
    assert_int_equal(word->level_count, 3); /* in order of appearance */
    assert_string_equal(word->levels[2].value.as.word, "broken");
    assert_int_equal(word->levels[2].usable, 0);
    assert_false(importance_best_at_end(&effects, word, &study, &largest)); /* words have no end */
    importances_release(&effects);
    study_release(&study);
}

static void test_equal_times_explain_nothing(void **state)
{
    (void)state;
    struct study study;
    struct importances effects;
    fixture_subject(&study);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            add(&study, a, b, "on", 1234.5);
    importances_find(&study, &effects);
    assert_int_equal(effects.count, 2);
    for (size_t i = 0; i < effects.count; i++) {
        check(&effects.items[i], i == 0 ? "a" : "b", 0, 0);
        assert_false(effects.varies);
        bool largest;
        assert_false(importance_best_at_end(&effects, &effects.items[i], &study, &largest));
    }
    importances_release(&effects);
    study_release(&study);
}

static void test_static_mode_explains_occupancy(void **state)
{
    (void)state;
    struct study study;
    struct importances effects;
    fixture_subject(&study);
    study.environment.static_mode = true;
    for (int a = 0; a < 4; a++) {
        struct result *result = add(&study, a / 2, a % 2, "on", 0);
        result->outcome = OUTCOME_COMPILED;
        fixture_figures(result, 32, 0);
        result->stats.occupancy = a % 2 ? 1 : 0.5;
    }
    importances_find(&study, &effects);
    assert_false(effects.of_time);
    check(&effects.items[0], "b", 1, 1);
    check(&effects.items[1], "a", 0, 0);
    assert_int_equal(importance_best_level(&effects, &effects.items[0], &study), 1);
    importances_release(&effects);
    study_release(&study);
}

static void test_studies_with_nothing_to_explain(void **state)
{
    (void)state;
    struct study study;
    struct importances effects;
    fixture_subject(&study);
    importances_find(&study, &effects);
    assert_int_equal(effects.count, 0);
    importances_release(&effects);
    add(&study, 1, 1, "on", 0);
    add(&study, 2, 1, "on", 0);
    importances_find(&study, &effects);
    assert_int_equal(effects.usable, 0);
    check(&effects.items[0], "a", 0, 0);
    assert_int_equal(importance_best_level(&effects, &effects.items[0], &study), 2);
    importances_release(&effects);
    study_release(&study);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters_that_act_independently),
        cmocka_unit_test(test_parameters_that_only_interact),
        cmocka_unit_test(test_levels_have_their_best),
        cmocka_unit_test(test_equal_times_explain_nothing),
        cmocka_unit_test(test_static_mode_explains_occupancy),
        cmocka_unit_test(test_studies_with_nothing_to_explain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
