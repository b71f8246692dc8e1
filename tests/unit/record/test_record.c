#include "record/record.h"

#include "report/report.h"

#include "unit/scratch.h"
#include "unit/study_fixture.h"
#include "unit/test.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of the test that runs: its study, the study's id in the record, and the last error. */
static struct study study;
static int64_t id;
static struct error error;

static int leave(void **state)
{
    study_release(&study);
    study = (struct study){0};
    return scratch_leave(state);
}

/* For calls that must succeed: shows the message where they do not. */
static void check(int result)
{
    if (result != 0)
        fail_msg("%s: %s", error.file, error.message);
}

static struct record *open_record(const char *path)
{
    struct record *record = NULL;
    struct record_repair repair;
    check(record_open(&record, path, &repair, &error));
    assert_null(repair.set_aside);
    return record;
}

/* All that the record has of a study, as the report in JSON says it, which has everything but a few members; a new
 * string. */
static char *text_of(const struct study *stored)
{
    char *text = NULL;
    size_t size = 0;
    const struct report_options options = {.format = REPORT_JSON};
    FILE *stream = open_memstream(&text, &size);
    assert_int_equal(report_print(stream, stored, 1, &options, NULL), 0);
    for (size_t i = 0; i < stored->result_count; i++)
        fprintf(stream, "%s %s %zu\n", stored->results[i].run_hash,
                stored->results[i].decided_by != NULL ? stored->results[i].decided_by : "",
                stored->results[i].time.count);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void assert_study_equal(const struct study *actual, const struct study *expected)
{
    char *left = text_of(actual);
    char *right = text_of(expected);
    assert_string_equal(left, right);
    free(left);
    free(right);
}

static void assert_result_equal(const struct result *actual, const struct result *expected)
{
    const struct study left = {.results = (struct result *)(uintptr_t)actual, .result_count = 1};
    const struct study right = {.results = (struct result *)(uintptr_t)expected, .result_count = 1};
    assert_study_equal(&left, &right);
}

/* The record's only study. */
static struct study read_study(struct record *record)
{
    struct study *studies = NULL;
    size_t count = 0;
    check(record_studies(record, &studies, &count, &error));
    assert_int_equal(count, 1);
    struct study stored = studies[0];
    free(studies);
    return stored;
}

/* Stores the study's results as a run does; finishes it where it is complete. */
static void store(struct record *record, struct study *stored)
{
    struct study subject;
    int64_t key = 0;
    fixture_subject(&subject);
    bindings_copy(&subject.problem, &stored->problem);
    subject.environment.static_mode = stored->environment.static_mode;
    memcpy(&subject.environment.gpu, &stored->environment.gpu, sizeof subject.environment.gpu);
    check(record_begin(record, &subject, true, &key, &error));
    assert_int_equal(subject.result_count, 0);
    study_release(&subject);
    for (size_t i = 0; i < stored->result_count; i++)
        check(record_result(record, key, &stored->results[i], "screening", &error));
    if (stored->complete)
        check(record_finish(record, key, stored, &error));
}

#define RECORD_TEST(function) UNIT_TEST_WITH(function, scratch_enter, leave)

RECORD_TEST(test_studies_read_back_as_they_were)
{
    fixture_study(&study);
    study.conditions = (struct gpu_conditions){true, 12, 3, 1950.25, 1};
    study.empty_batch_ns = 1312.5;
    study.results[1].runs = 32;
    study.results[1].seen_s = 3.25;
    study.results[2].decided_by = alloc_string("registers < 64");
    (void)snprintf(study.results[1].gpu, sizeof study.results[1].gpu, "GPU-b");
    study.gpu_count = 2;
    study.gpus = alloc_zeroed(2, sizeof *study.gpus);
    study.gpus[0] = (struct study_gpu){.uuid = "GPU-a", .ratio = 1};
    study.gpus[1] = (struct study_gpu){"GPU-b", 9, 1, 1.0123456789, 0.014};
    study.rejected_estimated = true;
    struct record *record = open_record("record.sqlite");
    store(record, &study);
    record_close(record);

    check(record_open_existing(&record, "record.sqlite", &error));
    struct study stored = read_study(record);
    assert_study_equal(&stored, &study);
    study_release(&stored);
    record_close(record);
}

/* What the record has of the fixture's subject. */
static struct study take_up(struct record *record)
{
    struct study stored;
    fixture_subject(&stored);
    check(record_begin(record, &stored, false, &id, &error));
    return stored;
}

/* What another tool measured: no winner, and nothing that autotune's own study takes up. */
RECORD_TEST(test_imported_results_are_kept_apart)
{
    struct study foreign;
    struct study own;
    struct study *studies = NULL;
    size_t count = 0;
    fixture_study(&foreign);
    fixture_subject(&own);
    foreign.has_winner = false;
    foreign.winner = 0;
    for (size_t i = 0; i < foreign.result_count; i++)
        foreign.results[i].finalist = foreign.results[i].tied = false;
    (void)strcpy(foreign.environment.tool, "Kernel Tuner");
    struct record *record = open_record("record.sqlite");
    check(record_import(record, &foreign, &error));
    check(record_import(record, &foreign, &error)); /* takes the first one's place */
    check(record_begin(record, &own, false, &id, &error));
    assert_int_equal(own.result_count, 0);
    record_close(record);

    check(record_open_existing(&record, "record.sqlite", &error));
    check(record_studies(record, &studies, &count, &error));
    assert_int_equal(count, 2);
    assert_string_equal(studies[0].environment.tool, "");
    assert_string_equal(studies[1].environment.tool, "Kernel Tuner");
    assert_study_equal(&studies[1], &foreign);
    for (size_t i = 0; i < count; i++)
        study_release(&studies[i]);
    free(studies);
    record_close(record);
    study_release(&own);
    study_release(&foreign);
}

/* How many results of the record failed for good, and are not superseded, for a study like this one. */
static size_t count_failures_like(struct record *record, const struct study *like)
{
    struct study *studies = NULL;
    size_t count = 0;
    size_t failures = 0;
    check(record_failures(record, like, &studies, &count, &error));
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < studies[i].result_count; j++)
            failures += result_is_refuted(&studies[i].results[j]);
        study_release(&studies[i]);
    }
    free(studies);
    return failures;
}

static size_t count_failures_on(struct record *record, const char *data_hash)
{
    struct study like;
    fixture_subject(&like);
    (void)snprintf(like.data_hash, sizeof like.data_hash, "%s", data_hash);
    size_t failures = count_failures_like(record, &like);
    study_release(&like);
    return failures;
}

static size_t count_failures(struct record *record)
{
    return count_failures_on(record, "");
}

/* Measuring again begins another study, which may end early, or be of fewer variants. A kernel with a race
 * may be right then, so only another driver or compiler takes back what was wrong or crashed. */
static void count_until_tried_again(enum outcome outcome, const char *driver, const char *nvrtc,
                                    bool counts)
{
    struct study stored;
    fixture_study(&stored);
    struct record *record = open_record("record.sqlite");
    const struct result *measured = &stored.results[3];
    struct result *failed = &stored.results[4];
    for (size_t i = 0; i < 3; i++) {
        struct study again;
        fixture_subject(&again);
        if (i > 0 && driver != NULL)
            (void)snprintf(again.environment.gpu.driver, sizeof again.environment.gpu.driver, "%s",
                           driver);
        if (i > 0 && nvrtc != NULL)
            (void)snprintf(again.environment.nvrtc, sizeof again.environment.nvrtc, "%s", nvrtc);
        check(record_begin(record, &again, true, &id, &error));
        failed->outcome = i == 0 ? outcome : OUTCOME_MEASURED;
        check(record_result(record, id, measured, "screening", &error));
        if (i != 1)
            check(record_result(record, id, failed, "screening", &error));
        assert_int_equal(count_failures_like(record, &again), i < 2 || counts);
        study_release(&again);
        if (outcome == OUTCOME_WRONG_RESULT) /* where it was wrong, it stays so */
            assert_int_equal(count_failures(record), 1);
    }
    record_close(record);
    study_release(&stored);
    (void)unlink("record.sqlite");
}

/* A run that has nothing to do with what an older driver measured does not take back what a newer one found. */
RECORD_TEST(test_a_failure_outlives_earlier_results_that_are_taken_up_later)
{
    static const char *const drivers[] = {"1.0", "2.0", "1.0"};
    fixture_study(&study);
    struct record *record = open_record("record.sqlite");
    for (size_t i = 0; i < 3; i++) {
        struct study subject;
        fixture_subject(&subject);
        (void)strcpy(subject.environment.gpu.driver, drivers[i]);
        check(record_begin(record, &subject, false, &id, &error));
        study.results[4].outcome = i == 1 ? OUTCOME_WRONG_RESULT : OUTCOME_MEASURED;
        if (i < 2)
            check(record_result(record, id, &study.results[4], "screening", &error));
        study_release(&subject);
        assert_int_equal(count_failures(record), i > 0);
    }
    record_close(record);
}

RECORD_TEST(test_a_failure_counts_until_the_variant_is_tried_again)
{
    count_until_tried_again(OUTCOME_FAULT, NULL, NULL, true);
    count_until_tried_again(OUTCOME_FAULT, "99.9", NULL, false);
    count_until_tried_again(OUTCOME_TIMEOUT, NULL, NULL, false);
    count_until_tried_again(OUTCOME_WRONG_RESULT, NULL, NULL, true);
    count_until_tried_again(OUTCOME_WRONG_RESULT, "99.9", NULL, false);
    count_until_tried_again(OUTCOME_WRONG_RESULT, NULL, "99.9.99", false);
}

/* A constraint on compiled kernels that the sweep now has rules out what failed; the record shows that, and
 * knows of the failure, which the same code does not take back. */
RECORD_TEST(test_neither_a_constraint_nor_another_run_takes_a_failure_of_the_study_back)
{
    struct study again;
    fixture_study(&study);
    fixture_subject(&again);
    struct record *record = open_record("record.sqlite");
    struct result *variant = &study.results[4];
    check(record_begin(record, &again, false, &id, &error));
    study_release(&again);
    variant->outcome = OUTCOME_WRONG_RESULT;
    check(record_result(record, id, variant, "screening", &error));
    variant->outcome = OUTCOME_CONSTRAINT;
    variant->decided_by = alloc_string("registers < 2");
    for (size_t i = 0; i < 2; i++) {
        check(record_result(record, id, variant, "screening", &error));
        assert_int_equal(count_failures(record), 1);
        again = take_up(record);
        assert_int_equal(again.result_count, 1);
        assert_int_equal(again.results[0].outcome, OUTCOME_CONSTRAINT);
        assert_string_equal(again.results[0].decided_by, "registers < 2");
        assert_string_equal(again.results[0].reason, "registers < 2");
        study_release(&again);
    }
    variant->outcome = OUTCOME_MEASURED;
    free(variant->decided_by);
    variant->decided_by = NULL;
    check(record_result(record, id, variant, "screening", &error));
    assert_int_equal(count_failures(record), 1);
    variant->outcome = OUTCOME_TIMEOUT; /* in another run: it is a race */
    check(record_result(record, id, variant, "screening", &error));
    variant->outcome = OUTCOME_MEASURED; /* with more time */
    check(record_result(record, id, variant, "screening", &error));
    again = take_up(record);
    assert_int_equal(again.results[0].outcome, OUTCOME_WRONG_RESULT);
    study_release(&again);
    record_close(record);
}

/* A run whose toolkit changed takes back what it has stored, but not what earlier ones found. */
RECORD_TEST(test_a_run_that_is_withdrawn_takes_no_earlier_failure_with_it)
{
    struct study again;
    fixture_study(&study);
    struct record *record = open_record("record.sqlite");
    struct result *variant = &study.results[4];
    again = take_up(record);
    study_release(&again);
    variant->outcome = OUTCOME_WRONG_RESULT;
    check(record_result(record, id, variant, "screening", &error));
    check(record_result(record, id, &study.results[2], "screening", &error));
    again = take_up(record);
    study_release(&again);
    check(record_withdraw(record, id, &error)); /* before it had come to that study */
    check(record_reopen(record, id, &error));
    variant->outcome = OUTCOME_MEASURED; /* of a race */
    check(record_result(record, id, variant, "screening", &error));
    variant->outcome = OUTCOME_FAULT;
    check(record_result(record, id, variant, "screening", &error));
    check(record_result(record, id, &study.results[3], "screening", &error));
    check(record_withdraw(record, id, &error));
    again = take_up(record);
    assert_int_equal(again.result_count, 2);
    assert_int_equal(again.results[0].outcome, OUTCOME_WRONG_RESULT);
    study_release(&again);
    record_close(record);
}

/* A variant that failed on some data still counts as failed when these data come back, whatever it did on
 * others in between; on others, such as corrected ones, it does not. */
RECORD_TEST(test_on_other_data_nothing_takes_a_failure_back_for_the_present_ones)
{
    fixture_study(&study);
    struct record *record = open_record("record.sqlite");
    struct result *variant = &study.results[4];
    for (size_t i = 0; i < 3; i++) {
        struct study again;
        fixture_subject(&again);
        (void)snprintf(again.data_hash, sizeof again.data_hash, i == 1 ? "b" : "a");
        check(record_begin(record, &again, true, &id, &error));
        study_release(&again);
        variant->outcome = i == 0 ? OUTCOME_TIMEOUT : OUTCOME_MEASURED;
        check(record_result(record, id, variant, "screening", &error));
        assert_int_equal(count_failures_on(record, "a"), i < 2);
        assert_int_equal(count_failures_on(record, "b"), i < 1);
    }
    record_close(record);
}

/* The median of the result with that block size; 0: there is none. */
static double near_median(const struct study *stored, int64_t block_size)
{
    for (size_t i = 0; i < stored->result_count; i++)
        if (bindings_find(&stored->results[i].parameters, "block_size")->as.integer == block_size)
            return stored->results[i].time.median_ns;
    return 0;
}

/* A search asks for what was measured of the kernel elsewhere: the nearest first, its own left out. */
RECORD_TEST(test_near_studies_are_of_other_problems_and_gpus)
{
    struct study own;
    struct study *near;
    size_t count = 0;
    struct record *record = open_record("record.sqlite");
    own = take_up(record);
    check(record_near(record, &own, id, 0, &near, &count, &error));
    assert_int_equal(count, 0);
    free(near);

    fixture_study(&study);
    double median_ns = study.results[study.winner].time.median_ns;
    int64_t block_size =
        bindings_find(&study.results[study.winner].parameters, "block_size")->as.integer;
    for (int i = 0; i < 6; i++) {
        bindings_set(&study.problem, "n", value_integer(1000 + i));
        (void)snprintf(study.environment.gpu.name, sizeof study.environment.gpu.name, "%s",
                       i < 5 ? "NVIDIA B200" : "NVIDIA H200");
        store(record, &study);
    }
    check(record_near(record, &own, id, 0, &near, &count, &error));
    assert_int_equal(count, RECORD_NEAR_STUDIES);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(near[i].result_count, study.result_count);
        assert_true(near_median(&near[i], block_size) == median_ns);
        study_release(&near[i]);
    }
    free(near);
    check(record_near(record, &own, id, id + 6, &near, &count, &error));
    assert_int_equal(count, 1);
    study_release(&near[0]);
    free(near);
    record_close(record);
    study_release(&own);
}

RECORD_TEST(test_takes_up_an_interrupted_study)
{
    struct study resumed;
    int64_t first = 0;
    int64_t second = 0;
    fixture_study(&study);
    study.conditions = (struct gpu_conditions){true, 12, 3, 1950.25, 1};
    study.empty_batch_ns = 1312.5;
    study.results[1].runs = 32;
    fixture_subject(&resumed);
    struct record *record = open_record("record.sqlite");
    check(record_begin(record, &resumed, false, &first, &error));
    assert_int_equal(resumed.result_count, 0);
    for (size_t i = 0; i < 2; i++)
        check(record_result(record, first, &study.results[i], "screening", &error));
    record_close(record);

    record = open_record("record.sqlite");
    check(record_begin(record, &resumed, false, &second, &error));
    assert_int_equal(second, first);
    assert_int_equal(resumed.result_count, 2);
    assert_false(resumed.complete);
    assert_result_equal(&resumed.results[0], &study.results[0]);
    assert_result_equal(&resumed.results[1], &study.results[1]);
    for (size_t i = 2; i < study.result_count; i++)
        check(record_result(record, second, &study.results[i], "screening", &error));
    check(record_finish(record, second, &study, &error));
    study_release(&resumed);

    resumed = take_up(record);
    assert_study_equal(&resumed, &study);
    study_release(&resumed);
    record_close(record);
}

static size_t count_marks(const struct study *stored)
{
    size_t marks = 0;
    for (size_t i = 0; i < stored->result_count; i++)
        marks += (size_t)stored->results[i].finalist + stored->results[i].tied +
                 stored->results[i].judged;
    return marks;
}

/* A run that judges other variants of the same study withdraws the verdict, judges its own, and
 * leaves the results of the others. */
RECORD_TEST(test_a_verdict_is_on_the_variants_that_it_judged)
{
    fixture_study(&study);
    size_t whole = study.result_count;
    struct record *record = open_record("record.sqlite");
    store(record, &study);
    struct study known = take_up(record);
    for (size_t i = 0; i < whole; i++)
        assert_true(known.results[i].judged);
    study_release(&known);

    check(record_reopen(record, id, &error));
    known = take_up(record);
    assert_false(known.complete);
    assert_false(known.has_winner);
    assert_int_equal(known.result_count, whole);
    assert_int_equal(count_marks(&known), 0);
    study_release(&known);

    study.result_count = 1; /* the narrow sweep */
    study.winner = 0;
    study.results[0].finalist = study.results[0].tied = true;
    check(record_finish(record, id, &study, &error));
    study.result_count = whole;
    known = take_up(record);
    assert_true(known.complete);
    assert_int_equal(known.result_count, whole);
    assert_int_equal(count_marks(&known), 3);
    assert_true(known.results[0].judged);
    study_release(&known);

    known = read_study(record);
    assert_int_equal(known.result_count, 1);
    assert_int_equal(known.winner, 0);
    study_release(&known);
    record_close(record);
}

/* What may be another in a later run; SM_COUNT and MEMORY as in another card, or a part of one, that is sold under
 * the same name. */
enum change { NOTHING, DATE, TEMPLATE, PROBLEM, DRIVER, NVRTC, CACHE, MODE, GPU, SM_COUNT, MEMORY };

static void change_study(struct study *stored, enum change change)
{
    struct environment *environment = &stored->environment;
    if (change == DATE)
        strcpy(environment->date, "2027-01-01T00:00:00Z");
    if (change == TEMPLATE)
        stored->template_hash[0] = 'f';
    if (change == PROBLEM)
        bindings_set(&stored->problem, "n", value_integer(1024));
    if (change == DRIVER)
        strcpy(environment->gpu.driver, "13.1");
    if (change == NVRTC)
        strcpy(environment->nvrtc, "12.9");
    if (change == CACHE)
        strcpy(stored->cache, "warm");
    if (change == GPU)
        strcpy(environment->gpu.name, "NVIDIA A100");
    environment->static_mode = change == MODE;
    environment->gpu.attributes[GPU_sm_count] -= change == SM_COUNT;
    environment->gpu.memory_bytes /= change == MEMORY ? 2 : 1;
}

/* Begins a study of the fixture's subject after the change; says whether the first one was taken up. */
static bool taken_up(struct record *record, enum change change, bool afresh)
{
    struct study stored;
    fixture_subject(&stored);
    change_study(&stored, change);
    check(record_begin(record, &stored, afresh, &id, &error));
    study_release(&stored);
    return id == 1;
}

RECORD_TEST(test_takes_up_the_same_subject_only)
{
    struct record *record = open_record("record.sqlite");
    for (enum change change = NOTHING; change <= MEMORY; change++)
        assert_int_equal(taken_up(record, change, false), change == NOTHING || change == DATE);
    assert_true(taken_up(record, NOTHING, false));
    assert_false(taken_up(record, NOTHING, true));
    record_close(record);
}

static void store_two(struct record *record, size_t first)
{
    const size_t indices[] = {first, first + 1};
    check(record_reopen(record, id, &error));
    check(record_results(record, id, study.results, indices, 2, "screening", &error));
}

/* Two runs share a study; the variants that each judges are not those of the other. */
RECORD_TEST(test_a_verdict_is_not_on_the_variants_of_another_run)
{
    fixture_study(&study);
    size_t whole = study.result_count;
    struct record *one = open_record("record.sqlite");
    struct record *other = open_record("record.sqlite");
    struct study subject = take_up(one);
    study_release(&subject);
    store_two(one, 0);
    store_two(other, 2);
    study.result_count = 2;
    study.winner = 0;
    check(record_finish(one, id, &study, &error));
    study.result_count = whole;
    subject = take_up(other);
    assert_int_equal(subject.result_count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(subject.results[i].judged, i < 2);
    study_release(&subject);
    record_close(one);
    record_close(other);
}

/* Two runs share a study, on two GPUs: what crashed in one has not won because the other measured it. A
 * screening may have given what hung more time. */
RECORD_TEST(test_what_fails_in_another_run_does_not_win)
{
    fixture_study(&study);
    const size_t winner = study.winner;
    struct record *one = open_record("record.sqlite");
    struct record *other = open_record("record.sqlite");
    struct study subject = take_up(one);
    study_release(&subject);
    for (size_t i = 0; i < study.result_count; i++)
        check(record_result(one, id, &study.results[i], "screening", &error));
    const enum outcome failures[] = {OUTCOME_TIMEOUT, OUTCOME_FAULT};
    for (size_t i = 0; i < 2; i++) {
        struct result failed = study.results[winner];
        failed.outcome = failures[i];
        failed.reason = (char *)"an illegal address";
        check(record_result(other, id, &failed, "screening", &error));
        if (failures[i] == OUTCOME_TIMEOUT)
            check(record_result(one, id, &study.results[winner], "screening", &error));
        else
            check(record_result(one, id, &study.results[winner], "finals", &error));
        check(record_finish(one, id, &study, &error));
        assert_int_equal(study.complete, failures[i] == OUTCOME_TIMEOUT);
    }
    assert_false(study.has_winner);
    assert_int_equal(study.results[winner].outcome, OUTCOME_FAULT);
    assert_string_equal(study.results[winner].reason, "an illegal address");
    subject = take_up(other);
    assert_int_equal(subject.results[winner].outcome, OUTCOME_FAULT);
    study_release(&subject);
    record_close(one);
    record_close(other);
}

/* Another kernel of the template, or a cover's rounds, run the same code. */
RECORD_TEST(test_what_failed_under_another_name_is_not_the_winner_any_more)
{
    const struct {
        enum outcome outcome;
        bool twin; /* it has other parameters, and the same code */
        bool refutes;
    } cases[] = {{OUTCOME_FAULT, false, true},
                 {OUTCOME_WRONG_RESULT, true, true},
                 {OUTCOME_TIMEOUT, false, true},
                 {OUTCOME_LAUNCH_ERROR, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct study named;
        fixture_study(&study);
        struct result *winner = &study.results[study.winner];
        (void)strcpy(winner->run_hash, "0123456789abcdef0123456789abcdef");
        struct record *record = open_record("record.sqlite");
        store(record, &study);

        fixture_subject(&named);
        free(named.kernel);
        named.kernel = alloc_string("reduce_sum.cover");
        bindings_copy(&named.problem, &study.problem);
        if (cases[i].twin) /* 2^20 written as 1048576.0 */
            bindings_set(&named.problem, "n",
                         value_real(number_real(bindings_find(&study.problem, "n"))));
        check(record_begin(record, &named, false, &id, &error));
        study_release(&named);
        winner->outcome = cases[i].outcome;
        if (cases[i].twin)
            bindings_set(&winner->parameters, "block_size", value_integer(7));
        check(record_result(record, id, winner, "finals", &error));
        if (i % 2 == 1) /* the first to ask is told of both, and of two others of the fixture */
            assert_int_equal(count_failures(record), cases[i].refutes ? 4 : 2);

        struct study again = take_up(record);
        assert_int_equal(again.complete, !cases[i].refutes);
        assert_int_equal(again.has_winner, !cases[i].refutes);
        assert_int_equal(again.results[study.winner].outcome,
                         cases[i].refutes ? cases[i].outcome : OUTCOME_MEASURED);
        study_release(&again);
        again = take_up(record); /* as is known now */
        assert_int_equal(again.complete, !cases[i].refutes);
        study_release(&again);
        record_close(record);
        study_release(&study);
        (void)unlink("record.sqlite");
    }
}

/* The other name is taken up again, and measures nothing. */
RECORD_TEST(test_a_timeout_under_another_name_counts_only_if_it_came_later)
{
    fixture_study(&study);
    struct result *result = &study.results[study.winner];
    struct record *record = open_record("record.sqlite");
    for (size_t i = 0; i < 3; i++) {
        struct study subject;
        fixture_subject(&subject);
        if (i % 2 == 0) {
            free(subject.kernel);
            subject.kernel = alloc_string("other");
        }
        check(record_begin(record, &subject, false, &id, &error));
        result->outcome = i == 0 ? OUTCOME_TIMEOUT : OUTCOME_MEASURED;
        if (i < 2)
            check(record_result(record, id, result, "screening", &error));
        study_release(&subject);
    }
    struct study again = take_up(record);
    assert_int_equal(again.results[0].outcome, OUTCOME_MEASURED);
    study_release(&again);
    record_close(record);
}

/* Puts a result of a study that differs in these respects; NULL: as the fixture. */
static void put_as(struct record *record, const char *kernel, const char *cache, const char *driver,
                   const struct result *result)
{
    struct study subject;
    fixture_subject(&subject);
    free(subject.kernel);
    subject.kernel = alloc_string(kernel);
    if (cache != NULL)
        (void)strcpy(subject.cache, cache);
    if (driver != NULL)
        (void)strcpy(subject.environment.gpu.driver, driver);
    check(record_begin(record, &subject, true, &id, &error));
    check(record_result(record, id, result, "screening", &error));
    study_release(&subject);
}

/* What spread to another name is taken back by whoever takes back the failure that it came from. */
RECORD_TEST(test_a_failure_is_taken_back_under_any_name)
{
    fixture_study(&study);
    struct result *result = &study.results[study.winner];
    struct record *record = open_record("record.sqlite");
    put_as(record, "one", "cold", NULL, result);
    result->outcome = OUTCOME_TIMEOUT;
    put_as(record, "one", "warm", NULL, result);
    assert_int_equal(count_failures(record), 1); /* of the later one */
    result->outcome = OUTCOME_MEASURED;
    put_as(record, "one", "warm", NULL, result);
    assert_int_equal(count_failures(record), 0);
    result->outcome = OUTCOME_WRONG_RESULT;
    put_as(record, "other", NULL, "1.0", result);
    assert_int_equal(count_failures(record), 1);
    result->outcome = OUTCOME_MEASURED;
    put_as(record, "one", NULL, NULL, result);
    assert_int_equal(count_failures(record), 0);
    record_close(record);
}

/* Whoever hears of the failure first, the verdict that it was a part of is withdrawn. */
RECORD_TEST(test_a_verdict_with_a_failure_is_decided_anew_though_it_was_not_the_winner)
{
    fixture_study(&study);
    struct record *record = open_record("record.sqlite");
    store(record, &study);
    const size_t loser = study.winner == 0 ? 1 : 0;
    assert_int_equal(study.results[loser].outcome, OUTCOME_MEASURED);
    study.results[loser].outcome = OUTCOME_WRONG_RESULT;
    put_as(record, "other", NULL, NULL, &study.results[loser]);
    (void)count_failures(record);
    struct study again = take_up(record);
    assert_false(again.complete);
    study_release(&again);
    record_close(record);
}

/* As -DSIZE=1048576 and -DSIZE=1048576.0. */
RECORD_TEST(test_one_problem_in_two_spellings_may_be_two_codes)
{
    fixture_study(&study);
    struct result *result = &study.results[study.winner];
    struct study named;
    struct record *record = open_record("record.sqlite");
    (void)strcpy(result->run_hash, "0123456789abcdef0123456789abcdef");
    store(record, &study);
    fixture_subject(&named);
    bindings_set(&named.problem, "n", value_real(number_real(bindings_find(&study.problem, "n"))));
    check(record_begin(record, &named, false, &id, &error));
    assert_int_equal(named.result_count, 0);
    study_release(&named);
    result->outcome = OUTCOME_WRONG_RESULT;
    (void)strcpy(result->run_hash, "fedcba9876543210fedcba9876543210");
    check(record_result(record, id, result, "screening", &error));
    struct study again = take_up(record);
    assert_true(again.has_winner);
    study_release(&again);
    record_close(record);
}

static int64_t count_of(const char *path, const char *sql)
{
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t count = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return count;
}

RECORD_TEST(test_keeps_the_samples_of_both_phases)
{
    fixture_study(&study);
    struct result *result = &study.results[0];
    struct record *record = open_record("record.sqlite");
    struct study subject = take_up(record);
    check(record_result(record, id, result, "screening", &error));
    result->samples_ns[0] = 1;
    result->sample_count = result->time.count = 2;
    check(record_result(record, id, result, "finals", &error));
    check(record_result(record, id, result, "finals", &error));
    study_release(&subject);

    subject = take_up(record);
    assert_int_equal(subject.result_count, 1);
    assert_result_equal(&subject.results[0], result);
    record_close(record);
    assert_int_equal(
        count_of("record.sqlite", "SELECT count(*) FROM measurement WHERE phase = 'screening'"), 3);
    assert_int_equal(
        count_of("record.sqlite", "SELECT count(*) FROM measurement WHERE phase = 'finals'"), 2);

    record = open_record("record.sqlite");
    check(record_result(record, id, result, "screening", &error));
    record_close(record);
    assert_int_equal(count_of("record.sqlite", "SELECT count(*) FROM sample"), 2);
    study_release(&subject);
}

RECORD_TEST(test_views_answer_a_users_questions)
{
    fixture_study(&study);
    struct record *record = open_record("record.sqlite");
    store(record, &study);
    record_close(record);
    assert_int_equal(count_of("record.sqlite",
                              "SELECT json_extract(parameters, '$.block_size') FROM best WHERE"
                              " kernel = 'reduce_sum' AND json_extract(problem, '$.n') = 16777216"
                              " AND round(median_us, 3) = 24.096 AND round(gb_per_s) = 2785"),
                     512);
    assert_int_equal(count_of("record.sqlite",
                              "SELECT count(*) FROM variant WHERE outcome = 'timeout'"
                              " AND reason = 'no end after 2 s'"),
                     2);
}

/* Readers refuse a file, with this message, and leave it alone. */
static void assert_unreadable(const char *path, const char *message)
{
    struct record *record = NULL;
    char *before = scratch_read(path);
    assert_int_equal(record_open_existing(&record, path, &error), ERROR_RECORD);
    assert_null(record);
    assert_string_equal(error.file, path);
    assert_non_null(strstr(error.message, message));
    char *after = scratch_read(path);
    assert_string_equal(after, before);
    free(before);
    free(after);
}

/* A run begins a new record, and the file is as it was under this new name. */
static void assert_set_aside(const char *path, const char *expected, bool was_old)
{
    struct record *record = NULL;
    struct record_repair repair;
    char *before = scratch_read(path);
    check(record_open(&record, path, &repair, &error));
    record_close(record);
    assert_string_equal(repair.set_aside, expected);
    assert_int_equal(repair.was_old, was_old);
    char *after = scratch_read(expected);
    assert_string_equal(after, before);
    free(before);
    free(after);
    free(repair.set_aside);
    check(record_open_existing(&record, path, &error));
    record_close(record);
}

static void execute(const char *path, const char *sql)
{
    sqlite3 *database = NULL;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

RECORD_TEST(test_foreign_files_are_kept)
{
    assert_int_equal(scratch_write("notes.txt",
                                   "just some notes, long enough to be looked at as a header "
                                   "of a database, which has one hundred bytes of its own\n"),
                     0);
    assert_unreadable("notes.txt", "not a record of autotune: file is not a database");
    assert_set_aside("notes.txt", "notes.txt.damaged-1", false);
    execute("other.sqlite", "CREATE TABLE song (title TEXT)");
    assert_unreadable("other.sqlite", "a database, but not a record of autotune");
    assert_set_aside("other.sqlite", "other.sqlite.damaged-1", false);
}

RECORD_TEST(test_a_newer_record_is_refused_and_left_alone)
{
    struct record *record = NULL;
    struct record_repair repair;
    record_close(open_record("newer.sqlite"));
    execute("newer.sqlite", "PRAGMA user_version = 99");
    assert_int_equal(record_open(&record, "newer.sqlite", &repair, &error), ERROR_RECORD);
    assert_null(record);
    assert_null(repair.set_aside);
    assert_int_equal(count_of("newer.sqlite", "PRAGMA user_version"), 99);
    assert_unreadable("newer.sqlite", "a newer autotune wrote this record (version 99");
}

RECORD_TEST(test_an_older_record_is_set_aside_whole)
{
    fixture_study(&study);
    for (int i = 1; i <= 2; i++) {
        char expected[64];
        struct record *record = open_record("record.sqlite");
        store(record, &study);
        record_close(record);
        execute("record.sqlite", "PRAGMA user_version = 4");
        assert_unreadable("record.sqlite", "an older autotune wrote this record (version 4");
        (void)snprintf(expected, sizeof expected, "record.sqlite.old-%d", i);
        assert_set_aside("record.sqlite", expected, true);
        assert_int_equal(count_of("record.sqlite", "SELECT count(*) FROM study"), 0);
        assert_int_equal(count_of(expected, "SELECT count(*) FROM variant"), study.result_count);
    }
}

RECORD_TEST(test_a_changed_table_is_damage)
{
    record_close(open_record("record.sqlite"));
    execute("record.sqlite", "CREATE TABLE mine (note TEXT)");
    record_close(open_record("record.sqlite"));
    execute("record.sqlite", "ALTER TABLE variant DROP COLUMN runs");
    assert_unreadable("record.sqlite", "the record is damaged");
    assert_set_aside("record.sqlite", "record.sqlite.damaged-1", false);
}

RECORD_TEST(test_a_removed_record_is_not_written_to)
{
    struct record *record = open_record("record.sqlite");
    struct study subject;
    fixture_subject(&subject);
    assert_int_equal(unlink("record.sqlite"), 0);
    assert_int_equal(record_begin(record, &subject, true, &id, &error), ERROR_RECORD);
    assert_string_equal(error.file, "record.sqlite");
    assert_non_null(strstr(error.message, "removed or replaced"));
    study_release(&subject);
    record_close(record);
}

/* Stores a study of its own problem, from the opening of the record on. */
static int write_as(int number)
{
    struct record *record = NULL;
    struct record_repair repair;
    struct study stored;
    fixture_study(&stored);
    bindings_set(&stored.problem, "n", value_integer(number));
    struct study subject;
    fixture_subject(&subject);
    bindings_copy(&subject.problem, &stored.problem);
    int result = record_open(&record, "record.sqlite", &repair, &error);
    if (result == 0)
        result = record_begin(record, &subject, false, &id, &error);
    for (size_t i = 0; result == 0 && i < stored.result_count; i++)
        result = record_result(record, id, &stored.results[i], "screening", &error);
    if (result == 0)
        result = record_finish(record, id, &stored, &error);
    if (result != 0)
        (void)fprintf(stderr, "writer %d: %s\n", number, error.message);
    record_close(record);
    study_release(&subject);
    study_release(&stored);
    return result;
}

RECORD_TEST(test_several_processes_write_at_once)
{
    enum { WRITERS = 6 };
    pid_t children[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(write_as(i) == 0 ? 0 : 1);
    }
    for (int i = 0; i < WRITERS; i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_of("record.sqlite", "SELECT count(*) FROM best"), WRITERS);
    assert_int_equal(count_of("record.sqlite", "SELECT count(*) FROM variant"), 6 * WRITERS);
}

/* As a user to whom the folder is closed for writing: the child gives up root where it has it. */
static int read_closed_folder(void)
{
    struct record *record = NULL;
    struct study *studies = NULL;
    size_t count = 0;
    if (geteuid() == 0 && setuid(65534) != 0)
        return 2;
    if (record_open_existing(&record, "closed/record?%#.sqlite", NULL) != 0)
        return 3;
    return record_studies(record, &studies, &count, NULL) == 0 && count == 1 ? 0 : 4;
}

RECORD_TEST(test_reads_a_record_in_a_closed_folder)
{
    assert_int_equal(mkdir("closed", 0755), 0);
    assert_int_equal(chmod(*state, 0755), 0);
    struct record *record = open_record("closed/record?%#.sqlite");
    fixture_study(&study);
    store(record, &study);
    record_close(record);
    assert_int_equal(chmod("closed/record?%#.sqlite", 0444), 0);
    assert_int_equal(chmod("closed", 0555), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(read_closed_folder());
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(chmod("closed", 0755), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}
