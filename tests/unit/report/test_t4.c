/*
 * The rules that are checked here are those of the T4 results schema 1.0.0, results-schema.json of
 * https://github.com/odgaard/TuningSchema, in our own words: the schema has no licence to copy it
 * under.
 */
#include "report/report_formats.h"
#include "unit/study_fixture.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What is printed, as a new string; the result goes to `*status`. */
static char *print(const struct study *studies, size_t count, int *status, struct error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    *status = report_t4(stream, studies, count, NULL, error);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static json_t *document(const struct study *study)
{
    int status;
    struct error error;
    char *text = print(study, 1, &status, &error);
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_int_equal(status, 0);
    assert_non_null(json);
    free(text);
    return json;
}

/* The value of a measurement; NULL where it is not there. */
static const json_t *measurement(const json_t *result, const char *name)
{
    size_t index;
    const json_t *item;
    json_array_foreach(json_object_get(result, "measurements"), index, item)
    {
        if (strcmp(json_string_value(json_object_get(item, "name")), name) == 0)
            return json_object_get(item, "value");
    }
    return NULL;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-8 * fabs(b);
}

static void test_a_measured_variant(void **state)
{
    (void)state;
    struct study study;
    fixture_study(&study);
    json_t *json = document(&study);
    const json_t *result = json_array_get(json_object_get(json, "results"), 1);
    const char *finish, *invalidity, *objective, *timestamp;
    json_int_t block_size;
    double runtime;
    assert_int_equal(json_unpack((json_t *)result, "{s:{s:I, s:s}, s:s, s:[s], s:s, s:{s:[F]}}",
                                 "configuration", "block_size", &block_size, "finish", &finish,
                                 "invalidity", &invalidity, "objectives", &objective, "timestamp",
                                 &timestamp, "times", "runtimes", &runtime),
                     0);
    assert_int_equal(block_size, 512);
    assert_string_equal(finish, "two_pass");
    assert_string_equal(invalidity, "correct");
    assert_string_equal(timestamp, "2026-11-21T06:12:00Z");
    assert_true(is_near(runtime, 24096.1e-6)); /* milliseconds; the first sample */
    assert_true(is_near(json_number_value(measurement(result, objective)), 24096e-6));
    assert_int_equal(json_array_size(json_object_get(json_object_get(result, "times"), "runtimes")),
                     3);
    assert_int_equal(json_integer_value(measurement(result, "registers")), 32);
    assert_true(is_near(json_number_value(measurement(result, "bandwidth")), 67108864 / 24096.0));
    json_decref(json);
    study_release(&study);
}

static void test_outcomes_become_invalidities(void **state)
{
    (void)state;
    struct study study;
    fixture_study(&study);
    json_t *json = document(&study);
    const json_t *results = json_object_get(json, "results");
    const json_t *timeout = json_array_get(results, 4);
    assert_string_equal(
        json_string_value(json_object_get(json_array_get(results, 2), "invalidity")), "compile");
    assert_string_equal(json_string_value(json_object_get(timeout, "invalidity")), "timeout");
    assert_int_equal(json_integer_value(json_object_get(timeout, "correctness")), 0);
    /* readers take a word in place of the objective for "no time" */
    assert_string_equal(json_string_value(measurement(timeout, "time")), "timeout");
    assert_string_equal(json_string_value(measurement(timeout, "reason")), "no end after 2 s");
    assert_string_equal(t4_invalidity(OUTCOME_WRONG_RESULT), "correctness");
    assert_string_equal(t4_invalidity(OUTCOME_CONSTRAINT), "constraints");
    assert_string_equal(t4_invalidity(OUTCOME_FAULT), "runtime");
    json_decref(json);
    study_release(&study);
}

static void test_a_duplicate_has_its_twins_result(void **state)
{
    (void)state;
    struct study study;
    fixture_study(&study);
    fixture_duplicate(&study, 0);
    study_link_twins(&study);
    json_t *json = document(&study);
    const json_t *results = json_object_get(json, "results");
    const json_t *twin = json_array_get(results, 0);
    const json_t *duplicate = json_array_get(results, 6);
    assert_string_equal(json_string_value(json_object_get(duplicate, "invalidity")), "correct");
    assert_int_equal(json_integer_value(json_object_get(duplicate, "correctness")), 1);
    assert_true(json_equal(measurement(duplicate, "time"), measurement(twin, "time")));
    assert_true(json_equal(json_object_get(duplicate, "times"), json_object_get(twin, "times")));
    assert_false(json_equal(json_object_get(duplicate, "configuration"),
                            json_object_get(twin, "configuration")));
    assert_string_equal(json_string_value(measurement(duplicate, "duplicate_of")),
                        study.results[6].reason);
    assert_null(measurement(twin, "duplicate_of"));
    json_decref(json);
    study_release(&study);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_measured_variant),
        cmocka_unit_test(test_outcomes_become_invalidities),
        cmocka_unit_test(test_a_duplicate_has_its_twins_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
