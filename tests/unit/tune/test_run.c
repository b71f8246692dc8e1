/* Whole runs of a small sweep with scripted workers, in a folder of their own. */
#include "tune/run.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "unit/tune/tuning_fixture.h"

struct observed {
    char notices[2048]; /* one after the other, a line each */
    size_t studies;
    size_t tuned_entries[8]; /* in the tuned INI when that study was done */
    size_t fail_at;          /* the study that cannot be reported, from 1; 0: none */
    struct run *run;         /* for reading, until it is released */
    struct error error;
};

static size_t count_tuned_entries(void)
{
    size_t count = 0;
    char *text = scratch_read("results/tuned.ini");
    for (const char *at = text; at != NULL && (at = strstr(at, "\nkernel = ")) != NULL; at++)
        count++;
    free(text);
    return count;
}

static bool has_incomplete_entry(void)
{
    char *text = scratch_read("results/tuned.ini");
    bool incomplete = text != NULL && strstr(text, "\nincomplete = yes\n") != NULL;
    free(text);
    return incomplete;
}

static void notice(void *user, const struct error *error)
{
    struct observed *observed = user;
    size_t used = strlen(observed->notices);
    (void)snprintf(observed->notices + used, sizeof observed->notices - used, "%s\n",
                   error->message);
}

static int study_done(void *user, const struct study *study, struct error *error)
{
    struct observed *observed = user;
    assert_true(study->complete || study->result_count == 0);
    observed->tuned_entries[observed->studies++] = count_tuned_entries();
    if (observed->studies == observed->fail_at)
        return error_set(error, ERROR_RECORD, "no report");
    return 0;
}

/* What a run came to. */
struct end {
    int status;  /* of run_sweep() */
    int winners; /* of run_check_winners(), if that succeeded */
    size_t refused;
    struct study study; /* the first one */
};

static void release(struct end *end)
{
    study_release(&end->study);
}

/* Runs the sweep in the current folder with these options. */
static struct end run_with(struct run_options options, struct observed *observed)
{
    struct run run;
    struct sweep sweep;
    struct end end = {0};
    options.command = "test";
    options.workers = 2;
    options.user = observed;
    options.notice = notice;
    options.study_done = study_done;
    (void)setenv("AUTOTUNE_CACHE", "cache", 1);
    (void)setenv("AUTOTUNE_LOCK_FOLDER", "locks", 1);
    const struct sweep_request request = {.path = "sweep.ini"};
    assert_int_equal(sweep_open(&sweep, &request, &observed->error), 0);
    run_init(&run, &options);
    end.status = run_sweep(&run, &sweep, &observed->error);
    if (end.status == 0)
        end.winners = run_check_winners(&run, &observed->error);
    end.refused = run.refused_count;
    if (run.job_count > 0) {
        end.study = run.jobs[0].study;
        run.jobs[0].study = (struct study){0};
    }
    run_release(&run);
    sweep_release(&sweep);
    return end;
}

static struct end run(const char *script, const char *rest, struct observed *observed)
{
    *observed = (struct observed){0};
    scripted_worker_script(script);
    fixture_files(rest, 0.5);
    return run_with((struct run_options){.quiet = false}, observed);
}

/* Within a budget, and with a deadline of a minute for a compilation; `*took_s` is how long it took. */
static struct end run_within(double budget_s, const char *script, const char *rest,
                             struct observed *observed, double *took_s)
{
    int64_t begin_ns = clock_ns();
    *observed = (struct observed){0};
    scripted_worker_script(script);
    fixture_files(rest, 0.5);
    assert_int_equal(system("sed -i 's/^compile_timeout_s.*/compile_timeout_s = 60/' sweep.ini"),
                     0);
    struct end end =
        run_with((struct run_options){.quiet = true, .limits.budget_s = budget_s}, observed);
    *took_s = (double)(clock_ns() - begin_ns) * 1e-9;
    return end;
}

static void check_end(const struct end *end, const struct observed *observed)
{
    if (end->status != 0 || end->winners != 0)
        print_message("%s\n", observed->error.message);
    assert_int_equal(end->status, 0);
    assert_int_equal(end->winners, 0);
}

static double winner_us(const struct end *end)
{
    assert_true(end->study.has_winner);
    return fixture_us(&end->study.results[end->study.winner]);
}

static void clear_folder(void)
{
    assert_int_equal(system("rm -rf cache results requests"), 0);
}

/* --- a run --- */

/* Runs the sweep again with these limits; returns how many variants were measured in all. */
static size_t measured_again(double compile_timeout_s, double launch_timeout_s)
{
    struct observed observed = {0};
    char *edit = alloc_format("sed -i -e 's/^compile_timeout_s.*/compile_timeout_s = %g/' "
                              "-e 's/^launch_timeout_s.*/launch_timeout_s = %g/' sweep.ini",
                              compile_timeout_s, launch_timeout_s);
    assert_int_equal(system(edit), 0);
    struct end end = run_with((struct run_options){.quiet = true}, &observed);
    size_t measured = study_count(&end.study, OUTCOME_MEASURED);
    check_end(&end, &observed);
    release(&end);
    free(edit);
    return measured;
}

static void a_higher_limit_tries_again_what_timed_out(void **state)
{
    struct observed observed;
    struct end end = run("trial:us=21 1 hang\ntrial:us=22 1 die 3\n", "us = 20..23", &observed);
    check_end(&end, &observed);
    assert_int_equal(study_count(&end.study, OUTCOME_TIMEOUT), 1);
    release(&end);
    assert_int_equal(measured_again(5, 0.5), 2); /* the same limit */
    assert_int_equal(measured_again(9, 0.4), 2); /* another one; a lower one */
    assert_int_equal(scripted_worker_count("trial:us=21"), 1);
    assert_int_equal(measured_again(5, 0.6), 3);
    assert_int_equal(measured_again(5, 0.7), 3); /* a fault is for good */
    assert_int_equal(scripted_worker_count("trial:us=22"), 1);
}

static void a_higher_limit_compiles_again_what_took_too_long(void **state)
{
    scripted_worker_script("compile:us=21 1 hang\n");
    fixture_files("us = 20..23", 2);
    assert_int_equal(measured_again(0.5, 2), 3);
    assert_int_equal(measured_again(0.5, 9), 3);
    assert_int_equal(scripted_worker_count("compile:us=21"), 1);
    assert_int_equal(measured_again(1, 2), 4);
}

static void what_was_killed_from_outside_is_tried_again_by_the_next_run(void **state)
{
    scripted_worker_script("compile:us=21 1-3 signal 9\ntrial:us=22 1-3 signal 9\n");
    fixture_files("us = 20..23", 5);
    assert_int_equal(measured_again(5, 5), 2);
    assert_int_equal(measured_again(5, 5), 4);
}

/* --- what a run refuses, and what ends it --- */

/* Memory that was there at first, and is gone when a new worker opens the problem again. */
static void memory_that_is_gone_later_refuses_the_problem(void **state)
{
    struct observed observed;
    struct end end = run("trial 1 die 3\nopen 2-21 error -9\n", "n = 1, 2\nus = 20, 30", &observed);
    assert_int_equal(end.status, 0);
    assert_int_equal(end.winners, ERROR_MEMORY);
    assert_int_equal(observed.studies, 1);
    release(&end);
}

/* What was right in an earlier run turns out to be wrong before the memory is gone, or as it is. */
static void a_problem_that_is_refused_leaves_nothing_wrong_in_the_tuned_ini(void **state)
{
    static const char *const scripts[] = {
        "trial:us=20 1 fail wrong_result\nmeasure 1 die 3\nopen 2-21 error -9\n",
        "measure:us=20 1 lose wrong_result\nopen 2-21 error -9\n",
        "verify:us=20 1 lose wrong_result\nopen 2-21 error -9\n"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct observed observed;
        struct end end = run("", "n = 1, 2\nus = 20, 20.0002", &observed);
        check_end(&end, &observed);
        assert_int_equal(count_tuned_entries(), 2);
        release(&end);
        assert_int_equal(system("rm -rf requests"), 0);
        observed = (struct observed){0};
        scripted_worker_script(scripts[i]);
        end = run_with((struct run_options){.remeasure = true}, &observed);
        assert_int_equal(end.status, 0);
        assert_int_equal(end.winners, ERROR_MEMORY);
        assert_int_equal(study_count(&end.study, OUTCOME_WRONG_RESULT), 1);
        assert_int_equal(count_tuned_entries(), 1);
        assert_non_null(strstr(observed.notices, "no longer has the configuration"));
        release(&end);
        clear_folder();
    }
}

/* Run, and expect this error. */
static void assert_ends(const char *script, enum error_code code, const char *message)
{
    struct observed observed;
    struct end end = run(script, "us = 20, 30", &observed);
    assert_int_equal(end.status, code);
    if (strstr(observed.error.message, message) == NULL)
        fail_msg("'%s' is not in '%s'", message, observed.error.message);
    assert_string_equal(observed.error.file, "");
    assert_int_equal(count_tuned_entries(), 0);
    release(&end);
    clear_folder();
}

static void workers_that_never_start_end_the_run(void **state)
{
    assert_ends("device * die 3\n", ERROR_WORKER, "ended with status 3 before it was ready");
    assert_ends("device * error -4\n", ERROR_DEVICE, "scripted");
    assert_ends("compiler * die 3\n", ERROR_WORKER, "`autotune worker compile`");
    assert_ends("compiler * error -4\n", ERROR_DEVICE, "scripted");
    assert_ends("open * die 3\n", ERROR_WORKER, "while it prepared the problem");
    assert_ends("compile * refuse error: no\n", ERROR_CONFIG,
                "the tuner's own kernels cannot be compiled: error: no");
}

/* One of the finalists has damaged what all use, and the run ends before it is known which. */
static void nobody_is_the_best_so_far_while_any_may_be_to_blame(void **state)
{
    assert_ends("verify:us=20 1 doubt wrong_result\nopen 2- error -4\n", ERROR_DEVICE, "scripted");
}

/* Afterwards a cubin cannot be read, which ends the run. */
static void what_fails_in_the_finals_has_failed_for_the_next_run(void **state)
{
    struct observed observed;
    struct end end = run("verify:us=20 1 lose wrong_result\n"
                         "load:us=20.0002 2- say {\"event\":\"failed\",\"outcome\":\"load_error\","
                         "\"reason\":\"damaged\",\"unreadable\":true}\n",
                         "us = 20, 20.0002", &observed);
    assert_int_equal(end.status, ERROR_RECORD);
    assert_int_equal(study_count(&end.study, OUTCOME_WRONG_RESULT), 1);
    release(&end);
    scripted_worker_script("");
    end = run_with((struct run_options){.quiet = true}, &observed);
    check_end(&end, &observed);
    assert_int_equal(study_count(&end.study, OUTCOME_WRONG_RESULT), 1);
    assert_true(winner_us(&end) > 20.0001);
    release(&end);
}

/* --- one code under two names --- */

/* Sections of a warm and a cold kernel, of which the second has these variants. */
static char *two_names(const char *first, const char *variants)
{
    const char *second = strcmp(first, "warm") == 0 ? "cold" : "warm";
    return alloc_format(
        "cache = %s\nus = 20, 22\n[other]\ntemplate = scripted\ncache = %s\nus = %s", first, second,
        variants);
}

static void assert_20_is_wrong(const struct end *end, const struct observed *observed)
{
    check_end(end, observed);
    assert_true(winner_us(end) > 21);
    assert_int_equal(count_tuned_entries(), 2);
    char *text = scratch_read("results/tuned.ini");
    assert_null(strstr(text, "parameter.us = 20\n"));
    free(text);
}

/* It was won in an earlier run, whose verdict would hold. */
static void what_another_name_finds_wrong_is_decided_anew(void **state)
{
    static const char *const orders[] = {"cold", "warm"};
    for (size_t i = 0; i < 2; i++) {
        struct observed observed;
        char *sections = two_names(orders[i], "20, 22");
        struct end end = run("", sections, &observed);
        check_end(&end, &observed);
        assert_true(winner_us(&end) < 21);
        release(&end);
        free(sections);
        assert_int_equal(system("rm -rf requests"), 0);
        sections = two_names(orders[i], "20, 22, 24");
        end = run("verify:us=20 1 lose wrong_result\n", sections, &observed);
        assert_20_is_wrong(&end, &observed);
        release(&end);
        free(sections);
        clear_folder();
    }
}

static void what_the_next_name_finds_wrong_is_decided_anew_at_once(void **state)
{
    struct observed observed;
    char *sections = two_names("warm", "20, 22");
    struct end end = run("trial:us=20 2 fail wrong_result\n", sections, &observed);
    assert_20_is_wrong(&end, &observed);
    release(&end);
    free(sections);
}

/* It was found wrong in a run with another tuned INI, and this sweep does not try it. */
static void what_is_wrong_outside_this_sweep_leaves_the_tuned_ini(void **state)
{
    struct observed observed;
    struct end end = run("", "us = 20, 22", &observed);
    check_end(&end, &observed);
    release(&end);
    assert_int_equal(system("mv results/tuned.ini kept.ini; rm -rf requests"), 0);
    end = run("trial:us=20 1 fail wrong_result\n",
              "us = 1\n[other]\ntemplate = scripted\nus = 20, 22", &observed);
    check_end(&end, &observed);
    release(&end);
    assert_int_equal(system("mv kept.ini results/tuned.ini"), 0);
    end = run("", "us = 1, 2\nn = 2\n[other]\ntemplate = scripted\nus = 22", &observed);
    check_end(&end, &observed);
    release(&end);
    assert_non_null(strstr(observed.notices, "no longer has the configuration of 'scripted'"));
    assert_int_equal(count_tuned_entries(), 2);
}

/* --- budgets --- */

/* From the sixth on, the compiler does not end before its deadline. */
static void compilations_under_way_are_given_up_at_the_end_of_the_budget(void **state)
{
    struct observed observed;
    double took_s;
    struct end end = run_within(2, "compile 6- hang\n", "us = 20..60", &observed, &took_s);
    check_end(&end, &observed);
    assert_true(took_s > 1.5 && took_s < 40);
    assert_true(end.study.has_winner);
    assert_int_equal(end.study.result_count, 4); /* the first was the tuner's own kernels */
    assert_int_equal(study_count(&end.study, OUTCOME_MEASURED), 4);
    assert_int_equal(observed.tuned_entries[0], 1);
    assert_false(has_incomplete_entry());
    release(&end);
}

/* The second problem's search begins with what was best for the first. */
static void what_one_problem_taught_begins_the_next(void **state)
{
    struct observed observed = {0};
    scripted_worker_script("");
    fixture_files("n = 1, 2\nus = 20..400", 0.5);
    struct end end =
        run_with((struct run_options){.quiet = true, .limits.evaluations = 12}, &observed);
    check_end(&end, &observed);
    assert_int_equal(observed.studies, 2);
    char *order = scripted_worker_order("trial");
    char best[16];
    (void)snprintf(best, sizeof best, " %g", winner_us(&end));
    const char *second = order;
    for (int i = 0; i < 12; i++)
        second = strchr(second + 1, ' ');
    const char *found = strstr(second, best);
    assert_non_null(found);
    assert_true(found - second < 20); /* among the first few: the compiler's order counts, too */
    free(order);
    release(&end);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(a_higher_limit_tries_again_what_timed_out),
        SCRATCH_TEST(a_higher_limit_compiles_again_what_took_too_long),
        SCRATCH_TEST(what_was_killed_from_outside_is_tried_again_by_the_next_run),
        SCRATCH_TEST(memory_that_is_gone_later_refuses_the_problem),
        SCRATCH_TEST(a_problem_that_is_refused_leaves_nothing_wrong_in_the_tuned_ini),
        SCRATCH_TEST(workers_that_never_start_end_the_run),
        SCRATCH_TEST(nobody_is_the_best_so_far_while_any_may_be_to_blame),
        SCRATCH_TEST(what_fails_in_the_finals_has_failed_for_the_next_run),
        SCRATCH_TEST(what_another_name_finds_wrong_is_decided_anew),
        SCRATCH_TEST(what_the_next_name_finds_wrong_is_decided_anew_at_once),
        SCRATCH_TEST(what_is_wrong_outside_this_sweep_leaves_the_tuned_ini),
        SCRATCH_TEST(compilations_under_way_are_given_up_at_the_end_of_the_budget),
        SCRATCH_TEST(what_one_problem_taught_begins_the_next),
    };
    if (argc > 1)
        return scripted_worker_main(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
