/* The screening with scripted workers: whatever happens, each variant gets its outcome. */
#include "base/clock.h"
#include "tune/tuning.h"

#include "unit/tune/tuning_fixture.h"

/* Screens to the end; the outcome of every variant must be known then. */
static void screen(void)
{
    fixture_open();
    fixture_check(screening_hold(&fixture.tuning, &fixture.job, &fixture.error));
    assert_int_equal(fixture.job.known_count, fixture.job.study.result_count);
    for (size_t i = 0; i < fixture.job.study.result_count; i++)
        assert_true(fixture.job.known[i]);
}

static void a_variant_may_fail_when_it_is_tried_again(void **state)
{
    /* the short one comes second, so that the other one is sampled singly first */
    fixture_start("compile:us=6 * after 1 trial:us=15\ntrial:us=15 2 die 3\n", "us = 6, 15", 10);
    screen();
    fixture_assert_outcome(15, OUTCOME_FAULT, "ended with status 3");
    fixture_assert_measured(6);
}

/* Two places in the finals, five that could win: a closer look at these. */
static void a_closer_look_if_too_many_could_win(void **state)
{
    fixture_start("", "us = 20, 20.01, 20.02, 20.03, 20.04, 30", 10);
    fixture.tuning.rules.finalists = 2;
    screen();
    assert_int_equal(fixture_result(20)->sample_count, 9);
    assert_int_equal(fixture_result(20.04)->sample_count, 9);
    assert_int_equal(fixture_result(30)->sample_count, 3);
}

/* It is not the best so far of a run that ends there. */
static void what_fails_in_a_closer_look_is_out_even_if_no_worker_replaces_the_lost_one(void **state)
{
    char *script = alloc_format("trial:us=20 2 lose fault\nopen 2- error %d\n", (int)ERROR_DEVICE);
    fixture_start(script, "us = 20, 20.01, 20.02, 20.03", 10);
    fixture.tuning.rules.finalists = 2;
    fixture_open();
    assert_int_equal(screening_hold(&fixture.tuning, &fixture.job, &fixture.error), ERROR_DEVICE);
    fixture_assert_outcome(20, OUTCOME_FAULT, "scripted");
    fixture_assert_measured(20.01);
    free(script);
}

/* The time is over before the screening begins, and nobody has patience any more. */
static void a_gpu_that_has_opened_the_problem_is_not_too_late(void **state)
{
    fixture_start("", "us = 20, 21", 10);
    fixture_open();
    fixture.team.patience_ns = 0;
    int64_t over_ns = clock_ns() - 1;
    allowance_begin(&fixture.tuning.allowance, over_ns - 1, over_ns, over_ns);
    fixture_check(screening_hold(&fixture.tuning, &fixture.job, &fixture.error));
    assert_true(fixture.fleet.gpus[0].open);
    assert_false(fixture.fleet.gpus[0].away);
    assert_false(fixture.fleet.gpus[0].lost);
}

/* The variants 21 to 23 have the same machine code, and all variants the same launches. */
static const char twins[] = "compile:us=21 * binary twin\n"
                            "compile:us=22 * binary twin\n"
                            "compile:us=23 * binary twin\n";

static size_t count_twin_trials(void)
{
    return scripted_worker_count("trial:us=21") + scripted_worker_count("trial:us=22") +
           scripted_worker_count("trial:us=23");
}

/* Variant 21 has `outcome`, and 22 and 23 are its duplicates. */
static void assert_twins(enum outcome outcome, const char *reason)
{
    fixture_assert_outcome(21, outcome, reason);
    for (int us = 22; us <= 23; us++) {
        fixture_assert_outcome(us, OUTCOME_DUPLICATE, "us=21");
        assert_int_equal(fixture_result(us)->sample_count, 0);
        assert_string_equal(fixture_result(us)->run_hash, fixture_result(21)->run_hash);
    }
}

static void a_twin_that_is_tried_again_is_not_its_own_duplicate(void **state)
{
    char *script = alloc_format("%strial 1 merge {\"throttled\":true}\n", twins);
    fixture_start(script, "us = 21, 22, 23", 10);
    screen();
    assert_twins(OUTCOME_MEASURED, "");
    assert_int_equal(count_twin_trials(), 2);
    free(script);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TUNING_TEST(a_variant_may_fail_when_it_is_tried_again),
        TUNING_TEST(a_closer_look_if_too_many_could_win),
        TUNING_TEST(what_fails_in_a_closer_look_is_out_even_if_no_worker_replaces_the_lost_one),
        TUNING_TEST(a_gpu_that_has_opened_the_problem_is_not_too_late),
        TUNING_TEST(a_twin_that_is_tried_again_is_not_its_own_duplicate),
    };
    if (argc > 1)
        return scripted_worker_main(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
