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
    assert_int_equal(sweep_load(&sweep, "sweep.ini", NULL, 0, &observed->error), 0);
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

/* The driver answers when two compile workers are ready. */
static void with_nothing_compiled_all_compile_workers_start_at_once(void **state)
{
    (void)state;
    struct observed observed;
    struct end end = run("device 1 after 2 compiler\n", "us = 20, 30", &observed);
    check_end(&end, &observed);
    assert_true(winner_us(&end) == 20);
    assert_int_equal(scripted_worker_count("device"), 1);
    release(&end);
}

/* Each of these ends a worker once, from outside: nothing of it is left in the results. */
static void a_kill_at_any_request_changes_nothing(void **state)
{
    (void)state;
    static const char *const requests[] = {"compiler", "compile", "device", "open",  "trial",
                                           "load",     "measure", "verify", "unload"};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct observed observed;
        char *script = alloc_format("%s 1 signal 9\n", requests[i]);
        struct end end = run(script, "us = 20, 24, 25", &observed);
        check_end(&end, &observed);
        assert_true(winner_us(&end) == 20);
        assert_int_equal(study_count(&end.study, OUTCOME_MEASURED), 3);
        release(&end);
        clear_folder();
        free(script);
    }
}

/* And each of these is a worker's own end: it costs one variant at most. */
static void a_death_at_any_request_costs_one_variant(void **state)
{
    (void)state;
    static const char *const requests[] = {
        "compiler 1", "compile:us=20.01 1", "device 1", "open 1",  "trial 1",
        "load 1",     "measure 1",          "verify 1", "unload 1"};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct observed observed;
        char *script = alloc_format("%s die 3\n", requests[i]);
        struct end end = run(script, "us = 20, 20.01, 20.02", &observed);
        check_end(&end, &observed);
        assert_in_range(study_count(&end.study, OUTCOME_MEASURED), 2, 3);
        assert_true(end.study.has_winner);
        assert_int_equal(count_tuned_entries(), 1);
        release(&end);
        clear_folder();
        free(script);
    }
}

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
    (void)state;
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
    (void)state;
    scripted_worker_script("compile:us=21 1 hang\n");
    fixture_files("us = 20..23", 2);
    assert_int_equal(measured_again(0.5, 2), 3);
    assert_int_equal(measured_again(0.5, 9), 3);
    assert_int_equal(scripted_worker_count("compile:us=21"), 1);
    assert_int_equal(measured_again(1, 2), 4);
}

static void what_was_killed_from_outside_is_tried_again_by_the_next_run(void **state)
{
    (void)state;
    scripted_worker_script("compile:us=21 1-3 signal 9\ntrial:us=22 1-3 signal 9\n");
    fixture_files("us = 20..23", 5);
    assert_int_equal(measured_again(5, 5), 2);
    assert_int_equal(measured_again(5, 5), 4);
}

static void the_tuned_ini_gains_each_study_as_it_is_done(void **state)
{
    (void)state;
    struct observed observed;
    struct end end = run("", "n = 1, 2, 3\nus = 20, 30", &observed);
    check_end(&end, &observed);
    assert_int_equal(observed.studies, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(observed.tuned_entries[i], i + 1);
    release(&end);
}

/* --- a second run --- */

static void a_failed_run_is_taken_up_where_it_ended(void **state)
{
    (void)state;
    struct observed observed;
    struct end end = run("trial 3 error -4\n", "us = 20, 21, 22, 23", &observed);
    assert_int_equal(end.status, ERROR_DEVICE);
    assert_string_equal(observed.error.message, "scripted");
    assert_int_equal(observed.studies, 0);
    assert_int_equal(count_tuned_entries(), 1);
    assert_true(has_incomplete_entry());
    assert_non_null(strstr(observed.notices, "the best so far of 1 problem, marked as incomplete"));
    release(&end);
    end = run("", "us = 20, 21, 22, 23", &observed);
    assert_false(has_incomplete_entry());
    check_end(&end, &observed);
    assert_true(winner_us(&end) == 20);
    for (int us = 20; us <= 23; us++) {
        char trial[32];
        (void)snprintf(trial, sizeof trial, "trial:us=%d", us);
        assert_in_range(scripted_worker_count(trial), 1, 2); /* the fourth was queued as well */
    }
    assert_in_range(scripted_worker_count("trial"), 5, 6);
    release(&end);
}

/* --- what a run refuses, and what ends it --- */

/* Memory that was there at first, and is gone when a new worker opens the problem again. */
static void memory_that_is_gone_later_refuses_the_problem(void **state)
{
    (void)state;
    struct observed observed;
    struct end end = run("trial 1 die 3\nopen 2-21 error -9\n", "n = 1, 2\nus = 20, 30", &observed);
    assert_int_equal(end.status, 0);
    assert_int_equal(end.winners, ERROR_MEMORY);
    assert_int_equal(observed.studies, 1);
    release(&end);
}

static void a_report_that_fails_ends_the_run(void **state)
{
    (void)state;
    struct observed observed = {.fail_at = 1};
    scripted_worker_script("");
    fixture_files("n = 1, 2\nus = 20, 30", 0.5);
    struct end end = run_with((struct run_options){.quiet = true}, &observed);
    assert_int_equal(end.status, ERROR_RECORD);
    assert_string_equal(observed.error.message, "no report");
    assert_int_equal(observed.studies, 1);
    assert_int_equal(scripted_worker_count("open"), 1); /* the second problem was not begun */
    assert_int_equal(count_tuned_entries(), 1);
    release(&end);
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
    (void)state;
    assert_ends("device * die 3\n", ERROR_WORKER, "ended with status 3 before it was ready");
    assert_ends("device * error -4\n", ERROR_DEVICE, "scripted");
    assert_ends("compiler * die 3\n", ERROR_WORKER, "`autotune worker compile`");
    assert_ends("compiler * error -4\n", ERROR_DEVICE, "scripted");
    assert_ends("open * die 3\n", ERROR_WORKER, "while it prepared the problem");
    assert_ends("compile * refuse error: no\n", ERROR_CONFIG,
                "the tuner's own kernels cannot be compiled: error: no");
}

static void a_compiler_that_is_killed_from_outside_is_not_the_sources_fault(void **state)
{
    (void)state;
    assert_ends(
        "compile * signal 9\n", ERROR_WORKER,
        "the tuner's own kernels could not be compiled: the compiler was killed by signal 9");
}

static void results_that_cannot_be_kept_end_the_run(void **state)
{
    (void)state;
    struct observed observed;
    assert_int_equal(scratch_write("results", "in the way"), 0);
    struct end end = run("", "us = 20, 30", &observed);
    assert_int_equal(end.status, ERROR_RECORD);
    assert_int_equal(scripted_worker_count("trial"), 0);
    release(&end);
}

/* --- budgets --- */

/* From the sixth on, the compiler does not end before its deadline. */
static void compilations_under_way_are_given_up_at_the_end_of_the_budget(void **state)
{
    (void)state;
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

/* A kernel that takes up to its deadline does not keep the next from being tried. */
static void failures_cost_what_they_cost(void **state)
{
    (void)state;
    struct observed observed;
    double took_s;
    struct end end = run_within(5, "trial 2 hang\ntrial 4 die 3\ncompile:us=23 1 die 3\n",
                                "us = 20..32", &observed, &took_s);
    check_end(&end, &observed);
    assert_int_equal(end.study.result_count, 13);
    assert_int_equal(study_count(&end.study, OUTCOME_MEASURED), 10);
    release(&end);
}

/* The finals' first answer waits for the second section's only variant to be compiled. */
static void the_next_problem_is_compiled_during_the_finals(void **state)
{
    (void)state;
    struct observed observed = {0};
    scripted_worker_script("measure 1 after 1 compile:us=50\n");
    fixture_files("us = 20..28\n[next]\ntemplate = scripted\nus = 50", 2);
    struct end end =
        run_with((struct run_options){.quiet = true, .limits.evaluations = 8}, &observed);
    check_end(&end, &observed);
    assert_int_equal(observed.studies, 2);
    assert_int_equal(study_count(&end.study, OUTCOME_MEASURED), 8);
    release(&end);
}

/* The second problem's search begins with what was best for the first. */
static void what_one_problem_taught_begins_the_next(void **state)
{
    (void)state;
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
        SCRATCH_TEST(with_nothing_compiled_all_compile_workers_start_at_once),
        SCRATCH_TEST(a_kill_at_any_request_changes_nothing),
        SCRATCH_TEST(a_death_at_any_request_costs_one_variant),
        SCRATCH_TEST(a_higher_limit_tries_again_what_timed_out),
        SCRATCH_TEST(a_higher_limit_compiles_again_what_took_too_long),
        SCRATCH_TEST(what_was_killed_from_outside_is_tried_again_by_the_next_run),
        SCRATCH_TEST(a_compiler_that_is_killed_from_outside_is_not_the_sources_fault),
        SCRATCH_TEST(the_tuned_ini_gains_each_study_as_it_is_done),
        SCRATCH_TEST(a_failed_run_is_taken_up_where_it_ended),
        SCRATCH_TEST(memory_that_is_gone_later_refuses_the_problem),
        SCRATCH_TEST(a_report_that_fails_ends_the_run),
        SCRATCH_TEST(workers_that_never_start_end_the_run),
        SCRATCH_TEST(results_that_cannot_be_kept_end_the_run),
        SCRATCH_TEST(compilations_under_way_are_given_up_at_the_end_of_the_budget),
        SCRATCH_TEST(failures_cost_what_they_cost),
        SCRATCH_TEST(the_next_problem_is_compiled_during_the_finals),
        SCRATCH_TEST(what_one_problem_taught_begins_the_next),
    };
    if (argc > 1)
        return scripted_worker_main(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
