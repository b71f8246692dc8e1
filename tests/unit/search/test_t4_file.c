#include "search/t4_file.h"

#include "unit/scratch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Reads a file with these metadata and results. */
static int read_text(const char *metadata, const char *results, struct t4_file *file,
                     struct error *error)
{
    char *text = alloc_format("{\"schema_version\": \"1.0.0\",\n \"metadata\": {%s},\n"
                              " \"results\": [%s]}\n",
                              metadata, results);
    assert_int_equal(scratch_write("a.t4.json", text), 0);
    free(text);
    return t4_file_read("a.t4.json", file, error);
}

static void times_have_units(void **state)
{
    (void)state;
    struct t4_file file;
    struct error error;
    assert_int_equal(read_text("\"timeunit\": \"microseconds\"",
                               "{\"configuration\": {\"a\": 1}, \"invalidity\": \"correct\","
                               " \"measurements\": [{\"name\": \"x\", \"value\": 9},"
                               " {\"name\": \"time\", \"value\": 2, \"unit\": \"ms\"}]},"
                               "{\"configuration\": {\"a\": 2}, \"invalidity\": \"correct\","
                               " \"measurements\": [{\"name\": \"time\", \"value\": 2}]},"
                               "{\"configuration\": {\"a\": 3}, \"invalidity\": \"correct\","
                               " \"times\": {\"runtimes\": [7, 5, 1000]}}",
                               &file, &error),
                     0);
    assert_int_equal(file.count, 3);
    assert_true(fabs(file.results[0].time_ns - 2e6) < 1e-3);
    assert_true(fabs(file.results[1].time_ns - 2e3) < 1e-3);
    assert_true(fabs(file.results[2].time_ns - 7e3) < 1e-3);
    t4_file_release(&file);
}

static void failures_have_no_time(void **state)
{
    (void)state;
    struct t4_file file;
    struct error error;
    assert_int_equal(
        read_text("",
                  "{\"configuration\": {\"a\": \"red\", \"b\": true, \"c\": 0.5},"
                  " \"invalidity\": \"compile\", \"times\": {\"runtimes\": []},"
                  " \"measurements\": [{\"name\": \"time\", \"value\": 3, \"unit\": \"ms\"}]},"
                  "{\"configuration\": {\"a\": \"red\"}, \"invalidity\": \"correct\","
                  " \"measurements\": [{\"name\": \"time\", \"value\": \"RuntimeFailedConfig\"}]}",
                  &file, &error),
        0);
    assert_true(isinf(file.results[0].time_ns));
    assert_string_equal(file.results[0].invalidity, "compile");
    char *text = bindings_text(&file.results[0].parameters);
    assert_string_equal(text, "a=red b=true c=0.5");
    free(text);
    assert_true(isinf(file.results[1].time_ns));
    t4_file_release(&file);
}

static void assert_refused(const char *results, const char *message)
{
    struct t4_file file;
    struct error error;
    assert_int_equal(read_text("", results, &file, &error), ERROR_CONFIG);
    assert_string_equal(error.file, "a.t4.json");
    if (strstr(error.message, message) == NULL)
        fail_msg("'%s' instead of '%s'", error.message, message);
    assert_int_equal(file.count, 0);
}

static void what_is_not_t4_is_refused_with_its_place(void **state)
{
    (void)state;
    assert_refused("7", "result 1: the object 'configuration' is missing");
    assert_refused("{\"configuration\": {\"a\": 1}}", "result 1: the text 'invalidity' is missing");
    assert_refused("{\"configuration\": {\"a\": [1]}, \"invalidity\": \"correct\"}",
                   "result 1: member 'a' is neither a number, a word nor a boolean");
    assert_refused("{\"configuration\": {\"a\": 1}, \"invalidity\": \"correct\"}",
                   "result 1: a correct result needs a time above 0");
    assert_refused("{\"configuration\": {\"a\": 1}, \"invalidity\": \"correct\", \"measurements\": "
                   "[{\"name\": \"time\", \"value\": 1, \"unit\": \"weeks\"}]}",
                   "result 1: a correct result needs a time above 0");
    struct t4_file file;
    struct error error;
    assert_int_equal(scratch_write("b.json", "{\"results\":\n [1,,2]}\n"), 0);
    assert_int_equal(t4_file_read("b.json", &file, &error), ERROR_CONFIG);
    assert_int_equal(error.line, 2);
    assert_int_equal(scratch_write("b.json", "{}\n"), 0);
    assert_int_equal(t4_file_read("b.json", &file, &error), ERROR_CONFIG);
    assert_non_null(strstr(error.message, "the array 'results' is missing"));
    assert_int_equal(t4_file_read("nothing.json", &file, &error), ERROR_CONFIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(times_have_units),
        SCRATCH_TEST(failures_have_no_time),
        SCRATCH_TEST(what_is_not_t4_is_refused_with_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
