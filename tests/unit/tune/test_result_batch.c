#include "tune/result_batch.h"

#include "base/clock.h"
#include "unit/scratch.h"
#include "unit/study_fixture.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LONG_NS 3600000000000

struct fixture {
    struct event_loop loop;
    struct timings timings;
    struct tuning_job job;
    struct result_batch batch;
    struct error error;
};

/* A study of a record, and a job with its results. */
static void start(struct fixture *fixture)
{
    struct study subject;
    struct record_repair repair;
    *fixture = (struct fixture){.batch.loop = &fixture->loop, .batch.timings = &fixture->timings};
    struct error *error = &fixture->error;
    fixture_study(&fixture->job.study);
    fixture_subject(&subject);
    timings_start(&fixture->timings);
    assert_int_equal(record_open(&fixture->batch.record, "record.sqlite", &repair, error), 0);
    assert_int_equal(
        record_begin(fixture->batch.record, &subject, false, &fixture->job.record_id, error), 0);
    study_release(&subject);
}

static void finish(struct fixture *fixture)
{
    record_close(fixture->batch.record);
    event_loop_release(&fixture->loop);
    study_release(&fixture->job.study);
}

static int add(struct fixture *fixture, size_t index)
{
    return result_batch_add(&fixture->batch, &fixture->job, index, &fixture->error);
}

static void start_with_two_that_wait(struct fixture *fixture)
{
    start(fixture);
    fixture->batch.due_ns = clock_ns() + LONG_NS;
    assert_int_equal(add(fixture, 0), 0);
    assert_int_equal(add(fixture, 1), 0);
}

static void run_sql(const char *sql)
{
    sqlite3 *database = NULL;
    assert_int_equal(sqlite3_open("record.sqlite", &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(database);
}

/* What a run that begins now would find. */
static int stored(void)
{
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_open("record.sqlite", &database), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(database, "SELECT count(*) FROM variant", -1, &statement, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int count = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return count;
}

static void test_results_that_wait_are_stored_while_others_are_awaited(void **state)
{
    (void)state;
    struct fixture fixture;
    start_with_two_that_wait(&fixture);
    assert_int_equal(stored(), 0);
    fixture.batch.source.deadline_ns = clock_ns() + RESULT_BATCH_NS;
    assert_int_equal(event_loop_step(&fixture.loop, clock_ns() + LONG_NS, &fixture.error), 0);
    assert_int_equal(stored(), 2);
    assert_int_equal(event_loop_step(&fixture.loop, clock_ns(), &fixture.error), 0);
    assert_int_equal(fixture.loop.count, 0);
    assert_int_equal(result_batch_end(&fixture.batch, 0, &fixture.error), 0);
    finish(&fixture);
}

static void test_whatever_ends_a_screening_its_results_are_stored(void **state)
{
    (void)state;
    struct fixture fixture;
    start_with_two_that_wait(&fixture);
    (void)error_set(&fixture.error, ERROR_INTERRUPTED, "interrupted");
    assert_int_equal(result_batch_end(&fixture.batch, ERROR_INTERRUPTED, &fixture.error),
                     ERROR_INTERRUPTED);
    assert_string_equal(fixture.error.message, "interrupted");
    assert_int_equal(stored(), 2);
    finish(&fixture);
}

static void test_a_record_that_fails_later_ends_the_wait(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture);
    fixture.batch.due_ns = clock_ns() + LONG_NS;
    assert_int_equal(add(&fixture, 0), 0);
    run_sql("CREATE TRIGGER full BEFORE INSERT ON variant"
            " BEGIN SELECT RAISE(ABORT, 'disk full'); END;");
    fixture.batch.source.deadline_ns = clock_ns();
    assert_int_equal(event_loop_step(&fixture.loop, clock_ns() + LONG_NS, &fixture.error),
                     ERROR_RECORD);
    assert_string_equal(fixture.error.file, "record.sqlite");
    assert_int_equal(stored(), 0);
    assert_int_equal(result_batch_end(&fixture.batch, 0, &fixture.error), 0);
    finish(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(test_results_that_wait_are_stored_while_others_are_awaited),
        SCRATCH_TEST(test_whatever_ends_a_screening_its_results_are_stored),
        SCRATCH_TEST(test_a_record_that_fails_later_ends_the_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
