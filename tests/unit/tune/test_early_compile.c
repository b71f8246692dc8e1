/* Compiling for a guessed architecture, with scripted workers, before there is a GPU. */
#include "tune/early_compile.h"

#include "unit/tune/tuning_fixture.h"

struct early_fixture {
    struct event_loop loop;
    struct sweep sweep;
    struct compile_pool *pool;
    struct run_limits limits;
    struct early_compile early;
    struct error error;
};

static struct environment environment = {.command = (char[]){"autotune"}};

static void begin(struct early_fixture *fixture, const char *sweep, const char *arch)
{
    const struct compile_pool_options options = {
        .workers = 1, .compile_timeout_s = 5, .cache_folder = "cache"};
    *fixture = (struct early_fixture){0};
    fixture_files(sweep, 5);
    assert_int_equal(sweep_load(&fixture->sweep, "sweep.ini", NULL, 0, &fixture->error), 0);
    assert_int_equal(compile_pool_new(&fixture->pool, &fixture->loop, &options, &fixture->error),
                     0);
    fixture->limits.sweep = &fixture->sweep;
    early_compile_begin(&fixture->early, fixture->pool, &fixture->limits, &environment, arch);
}

static void end(struct early_fixture *fixture)
{
    early_compile_end(&fixture->early);
    assert_int_equal(compile_pool_held(fixture->pool), 0);
    compile_pool_free(fixture->pool);
    event_loop_release(&fixture->loop);
    sweep_release(&fixture->sweep);
}

/* Else it would be compiled twice. */
static void what_was_compiled_early_is_what_the_run_requests(void **state)
{
    struct early_fixture fixture;
    struct tuning_job job;
    (void)state;
    begin(&fixture, "us = 20, 30", "sm_90");
    environment.gpu = fixture.early.environment.gpu;
    tuning_job_init(&job, &fixture.sweep.kernels[0], &fixture.sweep.kernels[0].problems[0],
                    &environment);
    assert_int_equal(job_space_enumerate(&job, &fixture.error), 0);
    assert_int_equal(compile_pool_held(fixture.pool), 3); /* with the tuner's own kernels */
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(tuning_job_request(&job, fixture.pool, i, &fixture.error), 0);
    assert_int_equal(compile_pool_held(fixture.pool), 3);
    early_compile_end(&fixture.early);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(compile_pool_wait(fixture.pool, job.compile_jobs[i], &fixture.error), 0);
    assert_true(job.compile_jobs[1]->has_cubin);
    tuning_job_drop_all(&job, fixture.pool);
    tuning_job_release(&job);
    end(&fixture);
}

static void a_large_space_gives_each_worker_a_few_jobs(void **state)
{
    struct early_fixture fixture;
    (void)state;
    begin(&fixture, "us = 1..100", "sm_90");
    assert_int_equal(compile_pool_held(fixture.pool), 8);
    end(&fixture);
}

static void a_search_chooses_what_it_tries(void **state)
{
    struct early_fixture fixture;
    (void)state;
    begin(&fixture, "us = 1..100\nbudget = 60s", "sm_90");
    assert_int_equal(compile_pool_held(fixture.pool), 1);
    end(&fixture);
}

/* The run reports it if it is true. */
static void an_architecture_that_the_compiler_does_not_know_is_no_error(void **state)
{
    struct early_fixture fixture;
    (void)state;
    begin(&fixture, "us = 20", "sm_1");
    assert_int_equal(compile_pool_held(fixture.pool), 0);
    end(&fixture);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(what_was_compiled_early_is_what_the_run_requests),
        SCRATCH_TEST(a_large_space_gives_each_worker_a_few_jobs),
        SCRATCH_TEST(a_search_chooses_what_it_tries),
        SCRATCH_TEST(an_architecture_that_the_compiler_does_not_know_is_no_error),
    };
    if (argc > 1)
        return scripted_worker_main(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
