#include "tune/twins.h"

#include "base/alloc.h"

#include "unit/test.h"

/* A job with variants i = 0, 1, …, whose run_hash is a letter of `hashes`; ' ' stands for none. */
static void make_job(struct tuning_job *job, const char *hashes)
{
    *job = (struct tuning_job){0};
    for (size_t i = 0; hashes[i] != '\0'; i++) {
        struct result *result = ARRAY_APPEND(job->study.results, job->study.result_count);
        bindings_set(&result->parameters, "i", value_integer((int64_t)i));
        if (hashes[i] != ' ')
            result->run_hash[0] = hashes[i];
    }
    job->known = alloc_zeroed(strlen(hashes), sizeof *job->known);
}

/* It was run, and takes so long. */
static void run(struct tuning_job *job, size_t index, double ns)
{
    job->study.results[index].time = (struct summary){.count = 1, .median_ns = ns};
    tuning_job_conclude(job, index, OUTCOME_MEASURED, NULL);
}

static void assert_duplicate(const struct tuning_job *job, size_t index, const char *twin)
{
    assert_int_equal(job->study.results[index].outcome, OUTCOME_DUPLICATE);
    assert_string_equal(job->study.results[index].reason, twin);
    assert_int_equal(job->study.results[index].time.count, 0);
    assert_true(job->known[index]);
}

UNIT_TEST(a_twin_waits_for_the_one_that_is_run)
{
    struct tuning_job job;
    struct twins twins;
    make_job(&job, "aba  ");
    twins_init(&twins, &job);
    assert_false(twins_wait(&twins, 0));
    assert_false(twins_wait(&twins, 0)); /* tried again */
    assert_false(twins_wait(&twins, 1));
    assert_true(twins_wait(&twins, 2));
    assert_false(twins_wait(&twins, 3)); /* nothing is known of these */
    assert_false(twins_wait(&twins, 4));
    run(&job, 0, 10);
    assert_int_equal(twins_conclude(&twins, 2), 2);
    assert_duplicate(&job, 2, "i=0");
    assert_int_equal(job.known_count, 2);
    twins_release(&twins);
    tuning_job_release(&job);
}

/* So the same sweep has the same winner, whatever the compiler delivers first. */
UNIT_TEST(the_result_is_the_first_one_s)
{
    struct tuning_job job;
    struct twins twins;
    make_job(&job, "aaaa");
    twins_init(&twins, &job);
    assert_false(twins_wait(&twins, 2));
    run(&job, 2, 10);
    assert_true(twins_wait(&twins, 3));
    assert_true(twins_wait(&twins, 0));
    assert_true(twins_wait(&twins, 1));
    assert_int_equal(twins_conclude(&twins, 0), 2);
    assert_int_equal(twins_conclude(&twins, 1), 1);
    assert_int_equal(twins_conclude(&twins, 3), 3);
    assert_int_equal(job.study.results[0].outcome, OUTCOME_MEASURED);
    assert_true(job.study.results[0].time.median_ns == 10);
    assert_true(job.known[0]);
    assert_int_equal(bindings_find(&job.study.results[0].parameters, "i")->as.integer, 0);
    for (size_t i = 1; i < 4; i++)
        assert_duplicate(&job, i, "i=0");
    assert_int_equal(job.known_count, 4);
    twins_release(&twins);
    tuning_job_release(&job);
}

UNIT_TEST(what_the_record_knows_is_not_run_again)
{
    struct tuning_job job;
    struct twins twins;
    make_job(&job, "aab");
    run(&job, 0, 10);
    tuning_job_conclude(&job, 2, OUTCOME_DUPLICATE, "i=7");
    twins_init(&twins, &job);
    assert_true(twins_wait(&twins, 1));
    assert_int_equal(twins_conclude(&twins, 1), 1);
    assert_duplicate(&job, 1, "i=0");
    job.study.results[0].run_hash[0] = 'b'; /* a duplicate is nobody's twin */
    assert_false(twins_wait(&twins, 0));
    twins_release(&twins);
    tuning_job_release(&job);
}
