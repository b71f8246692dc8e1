/* Several GPUs of one model screen a study together; scripted workers. */
#include "tune/fleet.h"

#include "tune/tuning.h"
#include "unit/tune/tuning_fixture.h"

#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

/* Opens the problem on the first GPU and screens; the outcome of every variant must be known then. */
static void screen(void)
{
    fixture_open();
    fixture_check(screening_hold(&fixture.tuning, &fixture.job, &fixture.error));
    assert_int_equal(fixture.job.known_count, fixture.job.study.result_count);
}

static void start(size_t gpus, const char *script, const char *rest)
{
    fixture_gpus = gpus;
    fixture_start(script, rest, 0.5);
    fixture_gpus = 1;
}

/* GPU 1 is 5 % slower: its times are recorded as they are, and compared as if GPU 0 had taken them. */
static void the_times_of_a_slower_gpu_are_put_right(void **state)
{
    start(2,
          "trial@0 1 after 1 trial@1\n"
          "trial@1 * slower 1.05\n",
          "us = 20, 20.3, 20.4, 22, 23, 24, 25, 26, 27, 28, 29, 30");
    screen();
    const struct study *study = &fixture.job.study;
    assert_int_equal(study->gpu_count, 2);
    assert_string_equal(study->gpus[0].uuid, "GPU-scripted");
    assert_string_equal(study->gpus[1].uuid, "GPU-scripted-1");
    assert_true(study->gpus[0].ratio == 1);
    assert_int_equal(study->gpus[1].compared, 3);
    assert_true(study->gpus[1].ratio > 1.049 && study->gpus[1].ratio < 1.051);
    size_t slower = 0;
    size_t count;
    bool *chosen = tuning_choose(&fixture.tuning, study, 64, &count);
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        double us = fixture_us(result);
        bool on_second = strcmp(result->gpu, "GPU-scripted-1") == 0;
        double expected_ns = 1e3 * us * (on_second ? 1.05 : 1);
        assert_true(on_second || strcmp(result->gpu, "GPU-scripted") == 0);
        assert_true(result->time.median_ns > 0.999 * expected_ns &&
                    result->time.median_ns < 1.001 * expected_ns);
        assert_int_equal(chosen[i], us <= 20.4);
        slower += on_second;
    }
    assert_true(slower > 0);
    free(chosen);
}

static void assert_all_measured_on(const char *uuid)
{
    const struct study *study = &fixture.job.study;
    for (size_t i = 0; i < study->result_count; i++) {
        fixture_assert_measured(fixture_us(&study->results[i]));
        assert_string_equal(study->results[i].gpu, uuid);
    }
}

/* Its worker dies, and so do the successors. */
static void a_gpu_that_fails_leaves_its_work_to_the_others(void **state)
{
    start(2,
          "trial@0 1 after 1 trial@1\n"
          "trial@1 1 die 3\n"
          "device@1 2-4 die 3\n",
          "us = 20..27");
    screen();
    assert_all_measured_on("GPU-scripted");
    assert_true(fixture.team.gpus[1]->lost);
    assert_int_equal(fixture.team.lead, 0);
    scripted_worker_script("");
    fixture_open(); /* the next problem is without it, though it would work */
    assert_false(fixture.team.gpus[1]->open);
    assert_true(fixture.team.gpus[1]->away);
}

/* The variants that got fewer samples because of it are then given the rest. */
static void if_a_gpu_fails_the_next_one_knows_that_a_variant_was_disqualified(void **state)
{
    start(2, "", "us = 20, 21");
    screen();
    scripted_worker_script("trial * die 3\ndevice * die 3\n");
    fixture.job.study.results[1].sample_count = 1;
    fixture.job.disqualified = true;
    assert_int_equal(screening_hold(&fixture.tuning, &fixture.job, &fixture.error), ERROR_WORKER);
    assert_true(fixture.job.disqualified);
}

static void if_all_gpus_fail_so_does_the_run(void **state)
{
    start(2, "trial 1- die 3\ndevice 3- die 3\ndevice@1 2- die 3\n", "us = 20..27");
    fixture_open();
    assert_int_equal(screening_hold(&fixture.tuning, &fixture.job, &fixture.error), ERROR_WORKER);
    assert_non_null(strstr(fixture.error.message, "before it was ready"));
}

static void nobody_waits_for_a_gpu_that_hangs_while_it_opens_a_problem(void **state)
{
    start(2, "open@0 * hang\n", "us = 20..27");
    screen();
    assert_all_measured_on("GPU-scripted-1");
    assert_int_equal(fixture.team.lead, 1);
    assert_true(fixture.team.gpus[0]->away);
    fixture_check(finals_hold(&fixture.tuning, &fixture.job, &fixture.error));
    fixture_assert_winner(20);
    /* the next problem finds it at work again */
    scripted_worker_script("trial@1 2 after 1 trial@0\n");
    fixture_open();
}

static void a_gpu_that_opens_a_problem_later_joins(void **state)
{
    start(2,
          "open@0 1 after 1 trial@1\n"
          "trial@1 2 after 1 trial@0\n",
          "us = 20..27");
    screen();
    assert_true(scripted_worker_count("trial@0") > 0);
    assert_int_equal(fixture.team.lead, 0);
    for (int us = 20; us < 28; us++)
        fixture_assert_measured(us);
}

static void a_problem_that_fits_on_one_gpu_is_done_there(void **state)
{
    start(2, "open@0 * error -9\n", "us = 20..27");
    screen();
    assert_all_measured_on("GPU-scripted-1");
    assert_true(fixture.team.gpus[0]->away);
    fixture_end();
    start(2, "open * error -9\n", "us = 20..27");
    assert_int_equal(tune_job(&fixture.tuning, &fixture.job, &fixture.error), ERROR_MEMORY);
}

/* The first one is only used by somebody else for a moment. */
static void a_gpu_that_pauses_comes_back_when_the_others_fail(void **state)
{
    start(2,
          "trial@0 1-2 merge {\"other_processes\":1,\"sm_clock_mhz\":1000}\n"
          "trial@1 1 after 2 trial@0\n"
          "trial@1 3 die 3\n"
          "device@1 2- die 3\n",
          "us = 20..27");
    screen();
    assert_int_equal(fixture.team.lead, 0);
    assert_true(fixture.team.gpus[1]->away);
    for (int us = 20; us < 28; us++)
        fixture_assert_measured(us);
}

static void count_failures(void *user, const struct error *notice)
{
    size_t *failures = user;
    *failures += strstr(notice->message, "failed") != NULL;
}

static void no_gpu_is_blamed_for_what_a_compile_worker_does(void **state)
{
    size_t failures = 0;
    fixture_workers = 1;
    start(2, "compile:us=22 * die 3\ncompiler 2- die 3\n", "us = 20..27");
    fixture_workers = 2;
    fixture.tuning.notice = count_failures;
    fixture.tuning.user = &failures;
    assert_int_equal(tune_job(&fixture.tuning, &fixture.job, &fixture.error), ERROR_WORKER);
    assert_non_null(strstr(fixture.error.message, "compile"));
    assert_int_equal(failures, 0);
    assert_false(fixture.team.gpus[0]->away);
    assert_false(fixture.team.gpus[1]->away);
}

static void what_a_throttled_gpu_measures_is_measured_by_another(void **state)
{
    start(2,
          "trial@0 1 after 1 trial@1\n"
          "trial@1 * merge {\"throttled\":true,\"other_processes\":0,\"sm_clock_mhz\":1000}\n",
          "us = 20..27");
    screen();
    assert_all_measured_on("GPU-scripted");
}

/* GPU 0 measures all, and GPU 1 compares the first three: one is right on GPU 0 alone. */
static void what_fails_where_gpus_are_compared_does_not_win(void **state)
{
    static const struct failure {
        const char *outcome;
        bool counts;
    } failures[] = {
        {"wrong_result", true}, {"fault", true}, {"timeout", true}, {"launch_error", false}};
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        char *script = alloc_format("open@1 1 after 3 trial@0\ntrial@1:us=20 * fail %s\n",
                                    failures[i].outcome);
        start(2, script, "us = 20, 21, 22");
        screen();
        assert_int_equal(fixture.job.study.gpus[1].failed, 1);
        if (failures[i].counts)
            fixture_assert_outcome(20, outcome_from_name(failures[i].outcome), "scripted");
        fixture_check(finals_hold(&fixture.tuning, &fixture.job, &fixture.error));
        fixture_assert_winner(failures[i].counts ? 21 : 20);
        fixture_end();
        free(script);
    }
}

/* Only the speed of what it runs is in doubt. When it gets to know that, it has the next ones. */
static void what_fails_on_a_disturbed_gpu_has_failed(void **state)
{
    start(2,
          "open * after 9 compile\n"
          "trial@0 1 after 1 trial@1\n"
          "trial@1 1 merge {\"other_processes\":1,\"sm_clock_mhz\":1000}\n"
          "trial@1 * fail wrong_result\n",
          "us = 20..27");
    screen();
    assert_true(study_count(&fixture.job.study, OUTCOME_WRONG_RESULT) > 0);
}

static void if_all_are_disturbed_one_goes_on(void **state)
{
    start(2, "trial * merge {\"other_processes\":1,\"sm_clock_mhz\":1000}\n", "us = 20..27");
    screen();
    for (int us = 20; us < 28; us++)
        fixture_assert_measured(us);
}

static struct gpu gpu_of(const char *arch, const char *name)
{
    struct gpu gpu;
    assert_int_equal(gpu_from_arch(arch, &gpu, NULL), 0);
    (void)snprintf(gpu.name, sizeof gpu.name, "%s", name);
    return gpu;
}

static void gpus_are_alike_if_all_but_their_clocks_agree(void **state)
{
    const struct gpu first = gpu_of("sm_90", "A");
    struct gpu second = first;
    assert_true(gpu_alike(&first, &second));
    second.attributes[GPU_clock_khz] = first.attributes[GPU_clock_khz] * 1009 / 1000;
    assert_true(gpu_alike(&first, &second));
    second.attributes[GPU_clock_khz] = first.attributes[GPU_clock_khz] * 102 / 100;
    assert_false(gpu_alike(&first, &second));
    second = first;
    second.memory_bytes /= 2;
    assert_false(gpu_alike(&first, &second));
    second = first;
    second.attributes[GPU_sm_count]--;
    assert_false(gpu_alike(&first, &second));
    second = gpu_of("sm_90", "B");
    assert_false(gpu_alike(&first, &second));
    second = gpu_of("sm_80", "A");
    assert_false(gpu_alike(&first, &second));
}

/* More than a run can use are not left out in silence. Whoever lists them may be killed meanwhile. */
static void so_many_gpus_have_to_be_listed(void **state)
{
    const struct gpu gpu = gpu_of("sm_90", "A");
    const struct device_list all = {.all = true};
    struct event_loop loop = {0};
    struct fleet fleet = {0};
    struct error error = {0};
    json_t *gpus = json_array();
    for (int i = 0; i <= DEVICES_MOST; i++)
        json_array_append_new(gpus, gpu_to_json(&gpu));
    char *text = json_dumps(gpus, JSON_COMPACT);
    char *script = alloc_format("device 1-2 signal 9\ndevice 3 merge {\"gpus\":%s}\n", text);
    scripted_worker_script(script);
    assert_int_equal(fleet_start(&fleet, &all, NULL, &loop, &error), ERROR_USAGE);
    assert_string_equal(error.message, "the driver shows 65 GPUs, and a run uses at most 64; list "
                                       "those that it is to use with --device");
    fleet_release(&fleet);
    event_loop_release(&loop);
    json_decref(gpus);
    free(text);
    free(script);
    assert_int_equal(system("rm -f requests"), 0);
}

static void ignore(void *user, const struct error *notice)
{
}

static void a_run_never_waits_for_its_own_lock(void **state)
{
    const struct fleet_notice notice = {ignore, NULL};
    int64_t waited_ns;
    start(2, "", "us = 20");
    assert_int_equal(setenv("AUTOTUNE_LOCK_FOLDER", "locks", 1), 0);
    fixture.fleet.gpus[1].gpu = fixture.fleet.gpus[0].gpu;
    assert_int_equal(fleet_lock(&fixture.fleet, false, &notice, &waited_ns, &fixture.error),
                     ERROR_DEVICE);
    assert_non_null(strstr(fixture.error.message, "GPU-scripted"));
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return scripted_worker_main(argv);
    const struct CMUnitTest tests[] = {
        TUNING_TEST(the_times_of_a_slower_gpu_are_put_right),
        TUNING_TEST(a_gpu_that_fails_leaves_its_work_to_the_others),
        TUNING_TEST(if_a_gpu_fails_the_next_one_knows_that_a_variant_was_disqualified),
        TUNING_TEST(if_all_gpus_fail_so_does_the_run),
        TUNING_TEST(nobody_waits_for_a_gpu_that_hangs_while_it_opens_a_problem),
        TUNING_TEST(a_gpu_that_opens_a_problem_later_joins),
        TUNING_TEST(a_problem_that_fits_on_one_gpu_is_done_there),
        TUNING_TEST(a_gpu_that_pauses_comes_back_when_the_others_fail),
        TUNING_TEST(no_gpu_is_blamed_for_what_a_compile_worker_does),
        TUNING_TEST(what_a_throttled_gpu_measures_is_measured_by_another),
        TUNING_TEST(what_fails_where_gpus_are_compared_does_not_win),
        TUNING_TEST(what_fails_on_a_disturbed_gpu_has_failed),
        TUNING_TEST(if_all_are_disturbed_one_goes_on),
        TUNING_TEST(so_many_gpus_have_to_be_listed),
        TUNING_TEST(a_run_never_waits_for_its_own_lock),
        cmocka_unit_test(gpus_are_alike_if_all_but_their_clocks_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
