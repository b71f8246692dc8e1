/*
 * One job of a sweep in the current folder, with all that tuning it takes: compile pool, GPU client
 * and record, with scripted workers (scripted_worker.h).
 */
#ifndef AUTOTUNE_TEST_TUNING_FIXTURE_H
#define AUTOTUNE_TEST_TUNING_FIXTURE_H

#include "base/alloc.h"
#include "tune/tuning.h"
#include "unit/scratch.h"
#include "unit/scripted_worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct tuning_fixture {
    struct event_loop loop;
    struct sweep sweep;
    struct environment environment;
    struct tuning_job job;
    struct progress progress;
    struct timings timings;
    struct tuning tuning;
    struct fleet fleet;
    struct team team;
    struct compile_ahead ahead;
    struct compile_job *support;
    struct error error;
} fixture; /* of the test that runs */

/* Sections of the templates that follow. */
static const char *fixture_sections = "";

/* A template "scripted" whose variants take `us` microseconds, and a sweep of it with `rest` in its
 * section: "us = 20, 30". */
static inline void fixture_files(const char *rest, double launch_timeout_s)
{
    char *sweep =
        alloc_format("[sweep]\ntemplates = .\ntuned = results/tuned.ini\nresults = results\n"
                     "launch_timeout_s = %g\ncompile_timeout_s = 5\n[scripted]\n%s\n",
                     launch_timeout_s, rest);
    assert_int_equal(scratch_write("sweep.ini", sweep), 0);
    assert_int_equal(scratch_write("scripted.cu", "int us = US; /* for a scripted compiler */\n"),
                     0);
    char *template = alloc_format("[kernel]\n"
                                  "description = takes `us` microseconds\n"
                                  "[parameters]\n"
                                  "us = 20\n"
                                  "[problem]\n"
                                  "n = 1\n"
                                  "[buffer.out]\n"
                                  "type = float\n"
                                  "length = n\n"
                                  "access = write\n"
                                  "[launch.main]\n"
                                  "entry = kernel\n"
                                  "grid = 64\n"
                                  "block = 128\n"
                                  "arguments = out\n"
                                  "[expect.out]\n"
                                  "reference = constant(0)\n"
                                  "compare = exact\n%s",
                                  fixture_sections);
    assert_int_equal(scratch_write("scripted.ini", template), 0);
    free(template);
    free(sweep);
}

static inline void fixture_check(int status)
{
    if (status != 0)
        print_message("%s\n", fixture.error.message);
    assert_int_equal(status, 0);
}

/* Compile workers of the fixtures that follow. */
static size_t fixture_workers = 2;

/* GPUs of the fixtures that follow. */
static size_t fixture_gpus = 1;

static inline void fixture_find_gpus(void)
{
    struct device_list devices = {.count = fixture_gpus};
    for (size_t i = 0; i < fixture_gpus; i++)
        devices.ordinals[i] = (int)i;
    fixture_check(fleet_start(&fixture.fleet, &devices, NULL, &fixture.loop, &fixture.error));
    fixture_check(fleet_identify(&fixture.fleet, &fixture.error));
    for (size_t i = 0; i < fixture_gpus; i++)
        team_add(&fixture.team, &fixture.fleet.gpus[i]);
    fixture.environment.gpu = fixture.fleet.gpus[0].gpu;
    fixture.tuning.team = &fixture.team;
    fixture.tuning.loop = &fixture.loop;
}

/* Everything until the first variant can be tried. Short finals. */
static inline void fixture_start(const char *script, const char *rest, double launch_timeout_s)
{
    const struct compile_pool_options options = {
        .workers = fixture_workers, .compile_timeout_s = 5, .cache_folder = "cache"};
    fixture = (struct tuning_fixture){0};
    struct tuning *tuning = &fixture.tuning;
    struct error *error = &fixture.error;
    struct tuning_job *job = &fixture.job;
    scripted_worker_script(script);
    fixture_files(rest, launch_timeout_s);
    const struct sweep_request request = {.path = "sweep.ini"};
    fixture_check(sweep_open(&fixture.sweep, &request, error));
    fixture_check(compile_pool_new(&tuning->pool, &fixture.loop, &options, error));
    fixture_find_gpus();
    fixture_check(compile_pool_set_arch(tuning->pool, fixture.environment.gpu.arch, error));
    struct record_repair repair;
    fixture_check(record_open(&tuning->record, "record.sqlite", &repair, error));
    fixture_check(tune_job_request_support(tuning->pool, fixture.environment.gpu.arch,
                                           &tuning->support, error));
    tuning_job_init(job, &fixture.sweep.kernels[0], &fixture.sweep.kernels[0].problems[0],
                    &fixture.environment, tuning->pool);
    fixture_check(record_begin(tuning->record, &job->study, false, &job->record_id, error));
    fixture_check(job_space_enumerate(job, error));
    fixture_check(tuning_job_compile(job, error));
    fixture.ahead = (struct compile_ahead){.pool = tuning->pool, .jobs = job, .job_count = 1};
    tuning->ahead = &fixture.ahead;
    fixture_check(compile_ahead_fill(&fixture.ahead, error));
    progress_start(&fixture.progress, job->study.result_count, true);
    timings_start(&fixture.timings);
    tuning->progress = &fixture.progress;
    tuning->timings = &fixture.timings;
    tuning->launch_timeout_s = launch_timeout_s;
    tuning->rules =
        race_rules_complete((struct race_rules){.minimum_rounds = 4, .maximum_rounds = 12});
}

/* Opens the job's problem on all GPUs. Compile jobs move on meanwhile, and may end it with an error. */
static inline int fixture_try_open(void)
{
    double empty_ns;
    const struct opened_problem problem = {.template = &fixture.job.kernel->template,
                                           .values = fixture.job.problem,
                                           .support_cubin = "support",
                                           .launch_timeout_s = fixture.tuning.launch_timeout_s};
    return team_open(&fixture.team, &fixture.loop, &problem, &empty_ns, &fixture.error);
}

static inline void fixture_open(void)
{
    fixture_check(fixture_try_open());
}

static inline void fixture_end(void)
{
    record_close(fixture.tuning.record);
    team_release(&fixture.team);
    fleet_release(&fixture.fleet);
    compile_pool_free(fixture.tuning.pool);
    event_loop_release(&fixture.loop);
    tuning_job_release(&fixture.job);
    sweep_release(&fixture.sweep);
    fixture = (struct tuning_fixture){0};
    assert_int_equal(system("rm -rf cache requests record.sqlite*"), 0);
}

static inline int fixture_leave(void **state)
{
    if (fixture.tuning.pool != NULL)
        fixture_end();
    return scratch_leave(state);
}

/* A test may leave its last fixture, which then ends. */
#define TUNING_TEST(function)                                                                      \
    cmocka_unit_test_setup_teardown(function, scratch_enter, fixture_leave)

static inline double fixture_us(const struct result *result)
{
    const struct value *us = bindings_find(&result->parameters, "us");
    return us->kind == VALUE_INTEGER ? (double)us->as.integer : us->as.real;
}

/* The variant that takes so long. */
static inline const struct result *fixture_result(double us)
{
    const struct study *study = &fixture.job.study;
    for (size_t i = 0; i < study->result_count; i++)
        if (fixture_us(&study->results[i]) == us)
            return &study->results[i];
    fail_msg("no variant takes %g us", us);
    return NULL;
}

static inline void fixture_assert_outcome(double us, enum outcome outcome, const char *reason)
{
    const struct result *result = fixture_result(us);
    assert_string_equal(outcome_name(result->outcome), outcome_name(outcome));
    assert_string_equal(result->reason != NULL ? result->reason : "", reason);
}

/* It was measured, at what it takes to 0.1 %. */
static inline void fixture_assert_measured(double us)
{
    const struct result *result = fixture_result(us);
    fixture_assert_outcome(us, OUTCOME_MEASURED, "");
    assert_true(result->time.median_ns > us * 999 && result->time.median_ns < us * 1001);
}

static inline void fixture_assert_winner(double us)
{
    const struct study *study = &fixture.job.study;
    assert_true(study->has_winner);
    assert_true(fixture_us(&study->results[study->winner]) == us);
    fixture_assert_measured(us);
}

#endif
