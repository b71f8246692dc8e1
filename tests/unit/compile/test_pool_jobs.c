/* The queue of a compile pool. */
#include "compile/pool_jobs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A job whose step comes next, of a source with a header to precompile. */
static struct pool_job *add(struct pool_jobs *jobs, const char *key, enum compile_step step,
                            bool urgent)
{
    char *header = "cooperative_groups.h";
    const struct options options = {.headers = &header, .header_count = 1};
    struct pool_job *job = pool_jobs_add(jobs, key);
    pool_jobs_request(jobs, job, "kernel.cu", "text", "00", "sm_90", &options);
    job->kind = compile_estimate_kind(&jobs->estimate, "00");
    job->step = step;
    pool_jobs_enqueue(jobs, job, urgent);
    return job;
}

static const char *const keys[] = {
    "00000000000000000000000000000000", "00000000000000000000000000000001",
    "00000000000000000000000000000002", "00000000000000000000000000000003",
    "00000000000000000000000000000004", "00000000000000000000000000000005",
    "00000000000000000000000000000006"};

static void urgent_jobs_come_first_and_the_others_in_their_order(void **state)
{
    struct pool_jobs jobs = {0};
    (void)state;
    pool_jobs_init(&jobs, "/nowhere", true);
    struct pool_job *first = add(&jobs, keys[0], COMPILE_STEP_COMPILE, false);
    struct pool_job *second = add(&jobs, keys[1], COMPILE_STEP_COMPILE, false);
    struct pool_job *urgent = add(&jobs, keys[2], COMPILE_STEP_COMPILE, true);
    assert_ptr_equal(pool_jobs_dequeue(&jobs), urgent);
    assert_ptr_equal(pool_jobs_dequeue(&jobs), first);
    assert_ptr_equal(pool_jobs_dequeue(&jobs), second);
    assert_int_equal(jobs.queue_count, 0);
    assert_int_equal(jobs.queued_with_headers, 0);
    pool_jobs_release(&jobs);
}

/* A job of the source "00" with these options. */
static struct pool_job *add_with(struct pool_jobs *jobs, const char *key, char *first, char *second)
{
    char *items[] = {first, second};
    const struct options options = {.items = items, .count = 2};
    struct pool_job *job = pool_jobs_add(jobs, key);
    pool_jobs_request(jobs, job, "kernel.cu", "text", "00", "sm_90", &options);
    job->kind = compile_estimate_kind(&jobs->estimate, "00");
    pool_jobs_enqueue(jobs, job, false);
    return job;
}

/* Else the workers wait at the end for one that has begun with the longest job last. */
static void jobs_like_those_that_took_longest_come_first(void **state)
{
    struct pool_jobs jobs = {0};
    (void)state;
    pool_jobs_init(&jobs, "/nowhere", false);
    (void)add_with(&jobs, keys[0], "-DLOADS=1", "-DBLOCK=64");
    (void)add_with(&jobs, keys[1], "-DLOADS=32", "-DBLOCK=64");
    pool_jobs_note_time(&jobs, pool_jobs_dequeue(&jobs), 0.05);
    pool_jobs_note_time(&jobs, pool_jobs_dequeue(&jobs), 0.15);
    struct pool_job *unknown = add_with(&jobs, keys[2], "-DLOADS=8", "-DBLOCK=128");
    struct pool_job *small = add_with(&jobs, keys[3], "-DLOADS=1", "-DBLOCK=128");
    struct pool_job *large = add_with(&jobs, keys[4], "-DLOADS=32", "-DBLOCK=128");
    struct pool_job *urgent = add(&jobs, keys[5], COMPILE_STEP_COMPILE, true);
    struct pool_job *other = add_with(&jobs, keys[6], "-DLOADS=32", "-DBLOCK=64");
    other->kind = compile_estimate_kind(&jobs.estimate, "another source");
    assert_true(fabs(pool_jobs_excess_s(&jobs)) < 1e-9);
    pool_jobs_order(&jobs);
    assert_ptr_equal(pool_jobs_dequeue(&jobs), urgent);
    assert_true(fabs(pool_jobs_excess_s(&jobs) - 0.05) < 1e-9); /* two long ones, a short one */
    assert_ptr_equal(pool_jobs_dequeue(&jobs), large);
    assert_true(fabs(pool_jobs_excess_s(&jobs)) < 1e-9);
    assert_ptr_equal(pool_jobs_dequeue(&jobs), unknown);
    pool_jobs_enqueue(&jobs, unknown, false); /* behind the last one */
    assert_ptr_equal(pool_jobs_dequeue(&jobs), small);
    assert_ptr_equal(pool_jobs_dequeue(&jobs), other); /* its workers precompile other headers */
    assert_ptr_equal(pool_jobs_dequeue(&jobs), unknown);
    pool_jobs_release(&jobs);
}

/* Else every later compilation would precompile its header for others that never come. */
static void a_job_that_only_counts_is_taken_back_without_its_headers(void **state)
{
    struct pool_jobs jobs = {0};
    (void)state;
    pool_jobs_init(&jobs, "/nowhere", true);
    struct pool_job *counting = add(&jobs, keys[0], COMPILE_STEP_COUNT, false);
    (void)add(&jobs, keys[1], COMPILE_STEP_COMPILE, false);
    assert_int_equal(jobs.queued_with_headers, 1);
    assert_true(pool_jobs_unqueue(&jobs, counting));
    assert_false(pool_jobs_unqueue(&jobs, counting));
    assert_int_equal(jobs.queued_with_headers, 1);
    assert_int_equal(jobs.queue_count, 1);
    pool_jobs_release(&jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urgent_jobs_come_first_and_the_others_in_their_order),
        cmocka_unit_test(jobs_like_those_that_took_longest_come_first),
        cmocka_unit_test(a_job_that_only_counts_is_taken_back_without_its_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
