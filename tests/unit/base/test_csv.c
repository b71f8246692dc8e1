#include "base/csv.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void assert_cell(const char *text, const char *expected)
{
    char *cell = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&cell, &length);
    csv_text(stream, text);
    (void)fclose(stream);
    assert_string_equal(cell, expected);
    free(cell);
}

static void what_has_separators_is_quoted(void **state)
{
    (void)state;
    assert_cell(NULL, "");
    assert_cell("plain", "plain");
    assert_cell("a,b", "\"a,b\"");
    assert_cell("a\"b\n", "\"a\"\"b\n\"");
}

static void a_spreadsheet_computes_nothing(void **state)
{
    (void)state;
    assert_cell("=1+1", "'=1+1");
    assert_cell("@SUM(A1)", "'@SUM(A1)");
    assert_cell("+A1", "'+A1");
    assert_cell("-1+2", "'-1+2");
    assert_cell("-", "'-");
    assert_cell("=f(\"a\",1)", "\"'=f(\"\"a\"\",1)\"");
}

static void numbers_stay_numbers(void **state)
{
    (void)state;
    static const char *const numbers[] = {"-1", "+1", "-0.5", "-1e-05", "+2.5e+10", "-3."};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_cell(numbers[i], numbers[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_separators_is_quoted),
        cmocka_unit_test(a_spreadsheet_computes_nothing),
        cmocka_unit_test(numbers_stay_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
