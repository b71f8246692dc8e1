#include "base/alloc.h"

#include "base/text_table.h"

#include "unit/test.h"

static void assert_printed(const struct text_table *table, size_t width, const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    text_table_print(table, width, stream);
    assert_int_equal(fclose(stream), 0);
    assert_string_equal(text, expected);
    free(text);
}

UNIT_TEST(test_columns_are_as_wide_as_their_cells)
{
    struct text_table *table = text_table_new();
    text_table_column(table, "blocks_per_sm_wanted", TABLE_RIGHT);
    text_table_column(table, "time us", TABLE_RIGHT);
    text_table_column(table, "finish", TABLE_LEFT);
    text_table_column(table, "limited by", TABLE_LEFT);
    const char *const cells[] = {"8",  "24.10",   "two_pass", "registers+shared", //
                                 "16", "1234567", "atomic",   ""};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        text_table_cell(table, cells[i]);
    assert_printed(table, 46,
                   "  blocks_\n"
                   "  per_sm_\n"
                   "   wanted  time us  finish    limited by\n"
                   "        8    24.10  two_pass  registers+shared\n"
                   "       16  1234567  atomic\n");
    assert_printed(table, 45,
                   " blocks_\n"
                   " per_sm_\n"
                   "  wanted time us finish   limited by\n"
                   "       8   24.10 two_pass registers+shared\n"
                   "      16 1234567 atomic\n");
    text_table_free(table);
}

/* --- CSV --- */

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

UNIT_TEST(a_spreadsheet_computes_nothing)
{
    assert_cell("=1+1", "'=1+1");
    assert_cell("@SUM(A1)", "'@SUM(A1)");
    assert_cell("+A1", "'+A1");
    assert_cell("-1+2", "'-1+2");
    assert_cell("-", "'-");
    assert_cell("=f(\"a\",1)", "\"'=f(\"\"a\"\",1)\"");
}

UNIT_TEST(numbers_stay_numbers)
{
    static const char *const numbers[] = {"-1", "+1", "-0.5", "-1e-05", "+2.5e+10", "-3."};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_cell(numbers[i], numbers[i]);
}
