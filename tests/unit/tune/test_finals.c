/*
 * The finals with scripted workers: the fastest variant that is right wins, whatever happens on the
 * way. Finals look at the standings after 4, 5, 7 and 12 rounds, of 3 samples each.
 */
#include "tune/tuning.h"

#include "unit/tune/tuning_fixture.h"

enum { ROUND_SAMPLES = 3, MOST_SAMPLES = 12 * ROUND_SAMPLES };

/* Two that noise keeps from being told apart within 12 rounds, and one that is ruled out at the
 * first look. */
#define CLOSE_AND_SLOW "us = 20, 20.0002, 25"
#define CLOSE_AND_SLOW_BATCHES "us = 6, 6.0001, 7"

static int hold_within(double tie_tolerance, const char *script, const char *rest,
                       double launch_timeout_s)
{
    fixture_start(script, rest, launch_timeout_s);
    fixture.tuning.rules.everyone = true; /* in the finals, however slow */
    fixture.tuning.rules.tie_tolerance = tie_tolerance;
    fixture_open();
    int status;
    do { /* as tune_job() does */
        fixture_check(screening_hold(&fixture.tuning, &fixture.job, &fixture.error));
        status = finals_hold(&fixture.tuning, &fixture.job, &fixture.error);
    } while (status == 0 && !fixture.job.study.has_winner &&
             study_count(&fixture.job.study, OUTCOME_MEASURED) > 0);
    return status;
}

static int hold(const char *script, const char *rest, double launch_timeout_s)
{
    return hold_within(1e-9, script, rest, launch_timeout_s);
}

static size_t samples_of(double us)
{
    return fixture_result(us)->sample_count;
}

/* --- workers that behave --- */

static void the_fastest_wins(void **state)
{
    fixture_check(hold("", "us = 23, 21, 20, 22", 10));
    fixture_assert_winner(20);
    for (int us = 20; us <= 23; us++) {
        fixture_assert_measured(us);
        assert_true(fixture_result(us)->finalist);
        assert_int_equal(samples_of(us), 4 * ROUND_SAMPLES);
        assert_int_equal(fixture_result(us)->tied, us == 20);
    }
    assert_int_equal(scripted_worker_count("verify"),
                     2); /* of the winner alone: briefly, then at length */
    assert_int_equal(scripted_worker_count("load"), 4);
    assert_int_equal(scripted_worker_count("unload"), 0); /* they go with the problem */
}

static void equals_are_a_tie(void **state)
{
    fixture_check(hold_within(0.005, "", "us = 20, 20.001, 30", 10));
    assert_true(fixture_result(20)->tied);
    assert_true(fixture_result(20.001)->tied);
    assert_false(fixture_result(30)->tied);
    fixture_assert_winner(20); /* the first of equals in registers and threads */
}

/* --- a worker is lost, and the variants are right --- */

/* At this point the worker is killed from outside: the finals are as without that. */
static void assert_unharmed(const char *script)
{
    fixture_check(hold(script, CLOSE_AND_SLOW, 10));
    assert_int_equal(tuning_client(&fixture.tuning)->worker.losses, 1);
    assert_true(fixture.job.study.has_winner);
    assert_int_equal(samples_of(20), MOST_SAMPLES);
    assert_int_equal(samples_of(20.0002), MOST_SAMPLES);
    assert_int_equal(samples_of(25), 4 * ROUND_SAMPLES);
    fixture_assert_measured(25);
    fixture_end();
}

static void a_kill_from_outside_changes_nothing(void **state)
{
    assert_unharmed("load 1 signal 9\n");
    assert_unharmed("load 3 signal 9\n");
    assert_unharmed("measure 1 signal 9\n");
    assert_unharmed("measure:us=25 3 signal 9\n");
    assert_unharmed("measure:us=20 9 signal 9\n"); /* when one was ruled out already */
    assert_unharmed("verify 2 signal 9\n");
}

static void throttled_samples_are_taken_again_in_their_round(void **state)
{
    fixture_check(hold("measure 2-3 merge {\"throttled\":true}\n", CLOSE_AND_SLOW, 10));
    assert_int_equal(samples_of(20), MOST_SAMPLES);
    assert_int_equal(samples_of(25), 4 * ROUND_SAMPLES);
}

/* --- a finalist fails --- */

/* The fastest meets the script: it has this outcome, and the next one wins. */
static void assert_second_wins(const char *script, enum outcome outcome, const char *reason)
{
    fixture_check(hold(script, CLOSE_AND_SLOW, 0.5));
    fixture_assert_outcome(20, outcome, reason);
    fixture_assert_winner(20.0002);
    fixture_assert_measured(25);
    fixture_end();
}

static void a_finalist_that_fails_is_out(void **state)
{
    assert_second_wins("load:us=20 1 fail load_error\n", OUTCOME_LOAD_ERROR, "scripted");
    assert_second_wins("measure:us=20 2 fail launch_error\n", OUTCOME_LAUNCH_ERROR, "scripted");
    assert_second_wins("verify:us=20 1 fail wrong_result\n", OUTCOME_WRONG_RESULT, "scripted");
}

static void a_finalist_that_costs_the_worker_is_out(void **state)
{
    const char *const requests[] = {"load:us=20 1", "measure:us=20 1", "measure:us=20 9",
                                    "verify:us=20 1"};
    /* "signal": from outside, as if memory were short, but whenever it is asked for this */
    assert_second_wins("measure:us=20 * signal 9\n", OUTCOME_FAULT,
                       "was killed by signal 9 (Killed)");
    assert_second_wins("verify:us=20 * signal 9\n", OUTCOME_FAULT,
                       "was killed by signal 9 (Killed)");
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        char *lost = alloc_format("%s lose fault\n", requests[i]);
        char *dead = alloc_format("%s die 3\n", requests[i]);
        assert_second_wins(lost, OUTCOME_FAULT, "scripted");
        assert_second_wins(dead, OUTCOME_FAULT, "ended with status 3");
        free(lost);
        free(dead);
    }
    assert_second_wins("measure:us=20 2 hang\n", OUTCOME_TIMEOUT, "did not end within 0.5 s");
    assert_second_wins("verify:us=20 1 hang\n", OUTCOME_TIMEOUT, "did not end within 0.5 s");
}

/* The leader fails at the end, after others were judged by its times: the rest of them race anew. */
static void the_race_goes_on_when_the_leader_fails(void **state)
{
    fixture_check(
        hold_within(0.005, "verify:us=20 1 fail wrong_result\n", "us = 20, 20.05, 20.12", 10));
    fixture_assert_outcome(20, OUTCOME_WRONG_RESULT, "scripted");
    fixture_assert_winner(20.05);
    assert_true(fixture_result(20.12)->tied); /* 0.6 % slower than the leader was */
    assert_int_equal(scripted_worker_count("measure:us=20.05"), 2 * 4);
}

/* Whoever does not lead is only out: the others keep what they have. */
static void the_winner_stays_when_a_rival_fails_at_the_end(void **state)
{
    fixture_check(
        hold_within(0.005, "verify:us=20.05 1 fail wrong_result\n", "us = 20, 20.05, 20.06", 10));
    fixture_assert_outcome(20.05, OUTCOME_WRONG_RESULT, "scripted");
    fixture_assert_winner(20);
    assert_true(fixture_result(20.06)->tied);
    assert_int_equal(scripted_worker_count("verify"), 4);
    assert_int_equal(scripted_worker_count("measure:us=20"), 4);
}

static void hold_carefully(const char *script)
{
    fixture_check(hold(script, CLOSE_AND_SLOW, 10));
    assert_true(fixture.job.careful);
}

/* Whoever is found beside damaged data may be innocent: the finals are held again, and checked
 * carefully. Then the one after whose run there is damage is to blame. */
static void damage_is_blamed_on_its_culprit(void **state)
{
    hold_carefully("verify:us=20.0002 1 doubt wrong_result\nmeasure:us=20 13 lose wrong_result\n");
    fixture_assert_outcome(20, OUTCOME_WRONG_RESULT, "scripted");
    fixture_assert_winner(20.0002);
}

/* Whoever crashed may have been led astray by another one: only if that one is found is he excused. */
static void who_crashed_is_excused_if_another_is_to_blame(void **state)
{
    hold_carefully("verify:us=20 1 lose fault\nmeasure:us=20.0002 13 lose wrong_result\n");
    fixture_assert_outcome(20.0002, OUTCOME_WRONG_RESULT, "scripted");
    fixture_assert_winner(20);
    fixture_end();
    hold_carefully("verify:us=20 1 lose fault\nverify:us=25 1 lose fault\n" /* both at once */
                   "measure:us=20.0002 13 lose wrong_result\n");
    fixture_assert_measured(25);
    fixture_assert_winner(20);
    fixture_end();
    hold_carefully("verify:us=20 1 lose fault\n");
    fixture_assert_outcome(20, OUTCOME_FAULT, "scripted");
    fixture_assert_winner(20.0002);
}

/* Else whoever is to blame might win for want of time. */
static void careful_finals_take_their_time(void **state)
{
    fixture_start("", CLOSE_AND_SLOW, 10);
    fixture.tuning.rules.everyone = true;
    fixture.tuning.rules.tie_tolerance = 1e-9;
    fixture_open();
    fixture_check(screening_hold(&fixture.tuning, &fixture.job, &fixture.error));
    fixture.job.careful = true;
    fixture.job.careful_rounds = 8; /* of earlier ones */
    fixture.tuning.allowance.end_ns = 1;
    fixture_check(finals_hold(&fixture.tuning, &fixture.job, &fixture.error));
    assert_int_equal(samples_of(20), 8 * ROUND_SAMPLES);
    assert_int_equal(samples_of(25), 8 * ROUND_SAMPLES); /* not ruled out earlier */
    assert_int_equal(fixture.tuning.allowance.end_ns, 1);
}

/* So may the template be if data of other random numbers cannot be made: they can after all. */
static void no_template_is_blamed_for_damage(void **state)
{
    fixture_sections =
        "[buffer.in]\ntype = float\nlength = n\naccess = read\nfill = uniform(0, 1)\n";
    fixture_check(hold("verify:us=20 2 say {\"event\":\"failed\",\"outcome\":\"invalid\","
                       "\"unfit\":true,\"lost\":true,\"doubtful\":true}\n",
                       CLOSE_AND_SLOW, 10));
    fixture_sections = "";
    assert_true(fixture.job.careful);
    assert_false(fixture.job.study.one_data_set);
    fixture_assert_winner(20);
}

/* Killed when it verifies the winner on the other data, after the winner's many runs: the next worker knows
 * nothing of these, and has them run again. */
static void a_new_worker_runs_the_winner_as_often_again(void **state)
{
    fixture_sections =
        "[buffer.in]\ntype = float\nlength = n\naccess = read\nfill = uniform(0, 1)\n";
    fixture_check(
        hold("verify:us=20 5 signal 9\nverify:us=20 9 fail wrong_result\n", "us = 20, 25", 10));
    fixture_sections = "";
    fixture_assert_outcome(20, OUTCOME_WRONG_RESULT, "scripted");
    fixture_assert_winner(25);
}

/* It is not the best so far of a run that ends there. */
static void what_crashes_is_out_even_if_no_worker_replaces_the_lost_one(void **state)
{
    static const char *const requests[] = {"measure", "verify"};
    for (size_t i = 0; i < 2; i++) {
        char *script = alloc_format("%s:us=20 1 lose fault\nopen 2- error %d\n", requests[i],
                                    (int)ERROR_DEVICE);
        assert_int_equal(hold(script, "us = 20, 25", 10), ERROR_DEVICE);
        fixture_assert_outcome(20, OUTCOME_FAULT, "scripted");
        free(script);
        fixture_end();
    }
}

/* Whoever ends the run meanwhile says nothing about the GPU. */
static void what_was_wrong_stays_so_if_the_run_is_interrupted_before_a_worker_replaces_the_lost_one(
    void **state)
{
    static const char *const requests[] = {"measure", "verify"};
    for (size_t i = 0; i < 2; i++) {
        char *script = alloc_format("%s:us=20 1 lose wrong_result\nopen 2- error %d\n", requests[i],
                                    (int)ERROR_INTERRUPTED);
        assert_int_equal(hold(script, "us = 20, 25", 10), ERROR_INTERRUPTED);
        fixture_assert_outcome(20, OUTCOME_WRONG_RESULT, "scripted");
        assert_true(result_is_refuted(fixture_result(20)));
        free(script);
        fixture_end();
    }
}

static void the_last_one_left_wins(void **state)
{
    fixture_check(
        hold("measure:us=20 2 die 3\nmeasure:us=20.0002 3 lose fault\n", CLOSE_AND_SLOW, 10));
    fixture_assert_outcome(20, OUTCOME_FAULT, "ended with status 3");
    fixture_assert_outcome(20.0002, OUTCOME_FAULT, "scripted");
    fixture_assert_winner(25);
}

static void if_everyone_fails_nobody_wins(void **state)
{
    static const char *const scripts[] = {"load * fail load_error\n", "measure * die 3\n",
                                          "verify * fail wrong_result\n"};
    static const char *const variants[] = {CLOSE_AND_SLOW, CLOSE_AND_SLOW, "us = 20"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        fixture_check(hold(scripts[i], variants[i], 10));
        assert_false(fixture.job.study.has_winner);
        assert_int_equal(study_count(&fixture.job.study, OUTCOME_MEASURED), 0);
        fixture_end();
    }
}

/* The winner fails its last verification: finals are held again among those it had ruled out. */
static void finals_are_held_again_among_those_left(void **state)
{
    fixture_start("verify:us=20 * fail wrong_result\n", "us = 20, 20.3, 25", 10);
    fixture_check(tune_job(&fixture.tuning, &fixture.job, &fixture.error));
    fixture_assert_outcome(20, OUTCOME_WRONG_RESULT, "scripted");
    fixture_assert_winner(20.3);
    assert_true(fixture.job.study.complete);
}

/* As when a search goes on after finals, and another GPU finds it wrong. */
static void a_winner_that_fails_after_the_finals_is_not_the_best_so_far(void **state)
{
    const struct study *study = &fixture.job.study;
    const struct device_client_answer failed = {.outcome = OUTCOME_WRONG_RESULT};
    fixture_check(hold("", "us = 23, 20, 21", 10));
    fixture_assert_winner(20);
    tuning_job_take_answer(&fixture.job, study->winner, &failed);
    assert_true(fixture_us(&study->results[study_best(study)]) == 21);
}

/* --- batches --- */

static void assert_all_single(void)
{
    for (size_t i = 0; i < fixture.job.study.result_count; i++) {
        const struct result *result = &fixture.job.study.results[i];
        if (result->outcome != OUTCOME_MEASURED)
            continue;
        assert_int_equal(result->runs, 1);
        assert_in_range(result->sample_count, 4 * ROUND_SAMPLES, MOST_SAMPLES);
        fixture_assert_measured(fixture_us(result));
    }
}

static void if_one_cannot_be_batched_all_begin_anew(void **state)
{
    fixture_check(hold("measure:us=6.0001 2 put sampled 0 1\n", CLOSE_AND_SLOW_BATCHES, 10));
    assert_all_single();
    fixture_assert_measured(7);
    assert_true(fixture.job.study.has_winner);
}

/* One was ruled out, the worker was lost, and then all begin anew: also the one that the new worker
 * has not loaded. */
static void who_begins_anew_is_loaded(void **state)
{
    fixture_check(hold("measure:us=6 6 signal 9\n"
                       "measure:us=6.0001 8 put sampled 0 1\n",
                       CLOSE_AND_SLOW_BATCHES, 10));
    assert_int_equal(tuning_client(&fixture.tuning)->worker.losses, 1);
    assert_all_single();
    fixture_assert_measured(7);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TUNING_TEST(the_fastest_wins),
        TUNING_TEST(equals_are_a_tie),
        TUNING_TEST(a_kill_from_outside_changes_nothing),
        TUNING_TEST(throttled_samples_are_taken_again_in_their_round),
        TUNING_TEST(a_finalist_that_fails_is_out),
        TUNING_TEST(a_finalist_that_costs_the_worker_is_out),
        TUNING_TEST(the_race_goes_on_when_the_leader_fails),
        TUNING_TEST(the_winner_stays_when_a_rival_fails_at_the_end),
        TUNING_TEST(damage_is_blamed_on_its_culprit),
        TUNING_TEST(who_crashed_is_excused_if_another_is_to_blame),
        TUNING_TEST(careful_finals_take_their_time),
        TUNING_TEST(no_template_is_blamed_for_damage),
        TUNING_TEST(a_new_worker_runs_the_winner_as_often_again),
        TUNING_TEST(what_crashes_is_out_even_if_no_worker_replaces_the_lost_one),
        TUNING_TEST(
            what_was_wrong_stays_so_if_the_run_is_interrupted_before_a_worker_replaces_the_lost_one),
        TUNING_TEST(the_last_one_left_wins),
        TUNING_TEST(if_everyone_fails_nobody_wins),
        TUNING_TEST(finals_are_held_again_among_those_left),
        TUNING_TEST(a_winner_that_fails_after_the_finals_is_not_the_best_so_far),
        TUNING_TEST(if_one_cannot_be_batched_all_begin_anew),
        TUNING_TEST(who_begins_anew_is_loaded),
    };
    if (argc > 1)
        return scripted_worker_main(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
