#include "base/text_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

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

static void test_columns_are_as_wide_as_their_cells(void **state)
{
    (void)state;
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

static void test_headings_stand_without_rows(void **state)
{
    (void)state;
    struct text_table *table = text_table_new();
    text_table_column(table, "", TABLE_LEFT);
    text_table_column(table, "block_size", TABLE_RIGHT);
    text_table_column(table, "n", TABLE_RIGHT);
    assert_printed(table, 44,
                   "    block_\n"
                   "      size  n\n");
    text_table_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_are_as_wide_as_their_cells),
        cmocka_unit_test(test_headings_stand_without_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
