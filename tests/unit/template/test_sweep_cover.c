#include "template/sweep_cover.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* What a section with these lines, of a template with problem values m, n, type and k, states; k is
 * a macro. */
static int read_lines(const char *lines, struct sweep_cover *cover, struct error *error)
{
    struct parameter problem[] = {{.name = "m"}, {.name = "n"}, {.name = "type"}, {.name = "k"}};
    struct definition definition = {.name = "k"};
    struct template template = {
        .problem = problem, .problem_count = 4, .definitions = &definition, .definition_count = 1};
    struct ini_file ini;
    char text[512];
    problem[0].fallback = problem[1].fallback = problem[3].fallback = value_integer(1);
    problem[2].fallback = value_word("float");
    (void)snprintf(text, sizeof text, "[sum]\nx = 1\n%s", lines);
    assert_int_equal(ini_file_read_text(&ini, "sweep.ini", text, NULL), 0);
    int status = sweep_cover_read(cover, &template, &ini, "sum", error);
    ini_file_release(&ini);
    return status;
}

static void test_ranges_of_one_value_and_of_several(void **state)
{
    struct sweep_cover cover;
    (void)state;
    assert_int_equal(read_lines("cover = n = 2^10 .. 2^30\n", &cover, NULL), 0);
    assert_int_equal(cover.axis_count, 1);
    assert_string_equal(cover.axes[0].name, "n");
    assert_true(cover.axes[0].low == 1024 && cover.axes[0].high == 1 << 30);
    assert_int_equal(cover.configurations, 4);
    assert_int_equal(cover.line, 3);
    assert_int_equal(
        read_lines("cover = n, m = 16..8192\ncover_configurations = 6\n", &cover, NULL), 0);
    assert_int_equal(cover.axis_count, 2);
    assert_true(cover.axes[0].low == 16 && cover.axes[1].high == 8192);
    assert_int_equal(cover.configurations, 6);
    assert_int_equal(read_lines("cover = m = 1 .. 8, n = 2 .. 4\n", &cover, NULL), 0);
    assert_true(cover.axes[0].high == 8 && cover.axes[1].low == 2);
}

static void test_a_section_without_a_range_has_none(void **state)
{
    struct sweep_cover cover;
    (void)state;
    assert_int_equal(read_lines("", &cover, NULL), 0);
    assert_int_equal(cover.axis_count, 0);
}

static void refused(const char *lines, int line, const char *message)
{
    struct sweep_cover cover;
    struct error error;
    assert_int_equal(read_lines(lines, &cover, &error), ERROR_CONFIG);
    if (strstr(error.message, message) == NULL)
        fail_msg("%s", error.message);
    assert_string_equal(error.file, "sweep.ini");
    assert_int_equal(error.line, line);
}

static void test_what_is_not_a_range_is_refused_at_its_line(void **state)
{
    (void)state;
    refused("cover = n\n", 3, "write it as n = 2^10 .. 2^30");
    refused("cover = n = 5\n", 3, "is not a range");
    refused("cover = n = 0 .. 5\n", 3, "whole numbers from 1");
    refused("cover = n = 1.5 .. 5\n", 3, "is not a range");
    refused("cover = n = 8 .. 5\n", 3, "ends below its start");
    refused("cover = n = 1 .. 5, m\n", 3, "has no range");
    refused("cover = n, n = 1 .. 5\n", 3, "is given twice");
    refused("cover = size = 1 .. 5\n", 3, "unknown problem value 'size'");
    refused("cover = type = 1 .. 5\n", 3, "is not a whole number");
    refused("cover =\n", 3, "has no range");
    refused("cover = n = 1 .. 5\ncover_configurations = 17\n", 4, "from 1 to 16");
}

static void test_a_value_that_is_compiled_in_has_no_range(void **state)
{
    (void)state;
    refused("cover = k = 1 .. 8\n", 3,
            "cover 'k' cannot have a range: the kernel is compiled for each");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges_of_one_value_and_of_several),
        cmocka_unit_test(test_a_section_without_a_range_has_none),
        cmocka_unit_test(test_what_is_not_a_range_is_refused_at_its_line),
        cmocka_unit_test(test_a_value_that_is_compiled_in_has_no_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
