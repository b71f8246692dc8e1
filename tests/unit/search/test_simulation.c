#include "search/simulation.h"

#include "search/t4_file.h"

#include "unit/scratch.h"
#include "unit/test.h"

#include <math.h>

/* One result of a T4 file; a time of 0 is a failure. */
static void print_result(FILE *stream, int a, const char *b, double time_ms)
{
    fprintf(stream,
            "%s{\"configuration\": {\"a\": %d, \"b\": \"%s\"}, \"invalidity\": \"%s\","
            " \"measurements\": [{\"name\": \"time\", \"value\": %g, \"unit\": \"ms\"}]}",
            a == 8 && strcmp(b, "red") == 0 ? "" : ",\n", a, b, time_ms > 0 ? "correct" : "runtime",
            time_ms);
}

/* 16 points: a = 8 … 1 for b = red, all of which fail but a = 8, and for b = green, with a ms. */
static void write_file(void)
{
    FILE *stream = fopen("a.t4.json", "w");
    assert_non_null(stream);
    fprintf(stream, "{\"results\": [");
    for (int a = 8; a > 0; a--)
        print_result(stream, a, "red", a == 8 ? 100 : 0);
    for (int a = 8; a > 0; a--)
        print_result(stream, a, "green", a);
    print_result(stream, 1, "green", 50); /* again: the first counts */
    fprintf(stream, "]}\n");
    assert_int_equal(fclose(stream), 0);
}

UNIT_TEST_WITH(a_t4_file_is_a_space, scratch_enter, scratch_leave)
{
    struct measured_space measured;
    struct error error;
    write_file();
    assert_int_equal(measured_space_read("a.t4.json", &measured, &error), 0);
    assert_int_equal(measured.points.count, 16);
    assert_true(fabs(measured.optimum_ns - 1e6) < 1);
    assert_true(fabs(measured.median_ns - 5e6) < 1); /* of 1 … 8 and 100 */
    const uint32_t fastest[] = {0, 1};               /* numbers are in ascending order */
    const uint32_t failed[] = {0, 0};
    assert_true(fabs(measured_space_time(&measured, fastest) - 1e6) < 1);
    assert_true(isinf(measured_space_time(&measured, failed)));
    measured_space_release(&measured);
}

UNIT_TEST_WITH(results_with_other_parameters_are_refused, scratch_enter, scratch_leave)
{
    struct measured_space measured;
    struct error error;
    assert_int_equal(
        scratch_write("a.t4.json",
                      "{\"results\": [{\"configuration\": {\"a\": 1}, \"invalidity\": \"runtime\"},"
                      " {\"configuration\": {\"b\": 1}, \"invalidity\": \"runtime\"}]}"),
        0);
    assert_int_equal(measured_space_read("a.t4.json", &measured, &error), ERROR_CONFIG);
    assert_string_equal(error.message, "result 2 has other parameters than result 1");
    assert_int_equal(
        scratch_write(
            "a.t4.json",
            "{\"results\": [{\"configuration\": {\"a\": 1}, \"invalidity\": \"runtime\"}]}"),
        0);
    assert_int_equal(measured_space_read("a.t4.json", &measured, &error), ERROR_CONFIG);
    assert_string_equal(error.message, "no result is correct; leave out this file");
}

/* After all points, everything is found; after one, the expected shares are known. */
UNIT_TEST_WITH(shares_and_gaps_are_means_over_searches, scratch_enter, scratch_leave)
{
    struct measured_space measured;
    struct error error;
    const size_t budgets[] = {1, 16, 40};
    struct simulation_result results[3];
    struct simulation_options options = {.strategy = search_strategy_find("random"),
                                         .budgets = budgets,
                                         .budget_count = 3,
                                         .repeats = 4000,
                                         .batch = 3,
                                         .seed = 1};
    write_file();
    assert_int_equal(measured_space_read("a.t4.json", &measured, &error), 0);
    assert_int_equal(simulation_run(&measured, &options, results, &error), 0);
    double share = 0.01 / 16;
    for (int a = 1; a <= 8; a++)
        share += 1.0 / a / 16;
    assert_true(fabs(results[0].share_mean - share) < 0.02);
    assert_true(results[0].share_min == 0); /* only a failure was seen */
    assert_true(fabs(results[0].gap_mean - (1 + 0.75 + 0.5 + 0.25) / 16) < 0.02);
    for (int i = 1; i < 3; i++) {
        assert_true(results[i].share_min == 1 && results[i].share_p5 == 1);
        assert_true(results[i].gap_mean == 1);
    }
    measured_space_release(&measured);
}

/* --- T4 files --- */

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

UNIT_TEST_WITH(times_have_units, scratch_enter, scratch_leave)
{
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

UNIT_TEST_WITH(what_is_not_t4_is_refused_with_its_place, scratch_enter, scratch_leave)
{
    static const struct {
        const char *results, *message;
    } cases[] = {
        {"7", "result 1: the object 'configuration' is missing"},
        {"{\"configuration\": {\"a\": 1}}", "result 1: the text 'invalidity' is missing"},
        {"{\"configuration\": {\"a\": [1]}, \"invalidity\": \"correct\"}",
         "result 1: member 'a' is neither a number, a word nor a boolean"},
        {"{\"configuration\": {\"a\": 1}, \"invalidity\": \"correct\"}",
         "result 1: a correct result needs a time above 0"},
        {"{\"configuration\": {\"a\": 1}, \"invalidity\": \"correct\", \"measurements\": "
         "[{\"name\": \"time\", \"value\": 1, \"unit\": \"weeks\"}]}",
         "result 1: a correct result needs a time above 0"},
    };
    struct t4_file file;
    struct error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_text("", cases[i].results, &file, &error), ERROR_CONFIG);
        assert_string_equal(error.file, "a.t4.json");
        if (strstr(error.message, cases[i].message) == NULL)
            fail_msg("'%s' instead of '%s'", error.message, cases[i].message);
        assert_int_equal(file.count, 0);
    }
    assert_int_equal(scratch_write("b.json", "{}\n"), 0);
    assert_int_equal(t4_file_read("b.json", &file, &error), ERROR_CONFIG);
    assert_non_null(strstr(error.message, "the array 'results' is missing"));
}
