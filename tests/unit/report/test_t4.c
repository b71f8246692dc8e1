/*
 * The rules that are checked here are those of the T4 results schema 1.0.0, results-schema.json of
 * https://github.com/odgaard/TuningSchema, in our own words: the schema has no licence to copy it
 * under.
 */
#include "report/t4.h"
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
    *status = t4_print(stream, studies, count, error);
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

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

static void check_measurements(const json_t *measurements)
{
    size_t index;
    const json_t *measurement;
    assert_true(json_is_array(measurements));
    json_array_foreach(measurements, index, measurement)
    {
        const json_t *value = json_object_get(measurement, "value");
        assert_true(json_is_string(json_object_get(measurement, "name")));
        assert_true(json_is_string(json_object_get(measurement, "unit")));
        assert_true(json_is_number(value) || json_is_string(value) || json_is_array(value));
    }
}

static void check_result(const json_t *result)
{
    static const char *const invalidities[] = {"timeout",     "compile", "runtime", "correctness",
                                               "constraints", "correct", NULL};
    size_t index;
    const json_t *runtime;
    const json_t *runtimes = json_object_get(json_object_get(result, "times"), "runtimes");
    const json_t *correctness = json_object_get(result, "correctness");
    assert_true(json_is_string(json_object_get(result, "timestamp")));
    assert_true(json_is_object(json_object_get(result, "configuration")));
    assert_true(json_is_array(json_object_get(result, "objectives")));
    assert_true(is_one_of(json_string_value(json_object_get(result, "invalidity")), invalidities));
    assert_true(json_is_integer(correctness));
    assert_in_range(json_integer_value(correctness), 0, 1);
    assert_true(json_is_array(runtimes));
    json_array_foreach(runtimes, index, runtime)
    {
        assert_true(json_is_number(runtime));
    }
    check_measurements(json_object_get(result, "measurements"));
}

static void check_document(const json_t *json, size_t expected_results)
{
    size_t index;
    const json_t *result;
    const json_t *results = json_object_get(json, "results");
    assert_string_equal(json_string_value(json_object_get(json, "schema_version")), "1.0.0");
    assert_int_equal(json_array_size(results), expected_results);
    json_array_foreach(results, index, result)
    {
        check_result(result);
    }
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

static void test_documents_keep_the_schemas_rules(void **state)
{
    (void)state;
    struct study study;
    fixture_study(&study);
    for (int outcome = 0; outcome < OUTCOME_COUNT; outcome++) {
        struct result *result =
            fixture_add(&study, 2000 + outcome, "atomic", (enum outcome)outcome);
        result->reason = alloc_string("cut within a letter: \xc3");
    }
    json_t *json = document(&study);
    check_document(json, study.result_count);
    json_decref(json);
    study_release(&study);
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

static void test_metadata_says_what_was_tuned_where(void **state)
{
    (void)state;
    struct study study;
    const char *api, *device, *unit, *kernel;
    json_int_t n;
    fixture_study(&study);
    json_t *json = document(&study);
    assert_int_equal(json_unpack(json, "{s:{s:s, s:s, s:s, s:s, s:{s:I}}}", "metadata",
                                 "compute_api", &api, "device", &device, "timeunit", &unit,
                                 "kernel", &kernel, "problem", "n", &n),
                     0);
    assert_string_equal(api, "CUDA");
    assert_string_equal(device, "NVIDIA H200");
    assert_string_equal(unit, "milliseconds");
    assert_string_equal(kernel, "reduce_sum");
    assert_int_equal(n, 16777216);
    json_decref(json);
    study_release(&study);
}

static void test_a_line_for_each_study_that_was_run(void **state)
{
    (void)state;
    struct study studies[3];
    struct error error;
    int status;
    for (int i = 0; i < 3; i++)
        fixture_study(&studies[i]);
    studies[1].environment.static_mode = true;
    char *text = print(studies, 3, &status, &error);
    char *second = strchr(text, '\n');
    assert_int_equal(status, 0);
    assert_non_null(second);
    *second++ = '\0';
    assert_int_equal(strcspn(second, "\n") + 1, strlen(second));
    for (const char *line = text; line != NULL; line = line == text ? second : NULL) {
        json_t *json = json_loads(line, 0, NULL);
        check_document(json, studies[0].result_count);
        json_decref(json);
    }
    free(text);
    text = print(&studies[1], 1, &status, &error);
    assert_int_equal(status, ERROR_USAGE);
    assert_string_equal(text, "");
    free(text);
    for (int i = 0; i < 3; i++)
        study_release(&studies[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documents_keep_the_schemas_rules),
        cmocka_unit_test(test_a_measured_variant),
        cmocka_unit_test(test_outcomes_become_invalidities),
        cmocka_unit_test(test_a_duplicate_has_its_twins_result),
        cmocka_unit_test(test_metadata_says_what_was_tuned_where),
        cmocka_unit_test(test_a_line_for_each_study_that_was_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
