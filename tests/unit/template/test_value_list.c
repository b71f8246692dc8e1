#include "template/value_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The list as "1 2 4". */
static void assert_list(const char *text, const char *expected)
{
    struct value_list list;
    struct error error;
    char joined[1024] = "";
    size_t used = 0;
    if (value_list_parse(&list, text, "s.ini", 3, &error) != 0)
        fail_msg("'%s' is refused: %s", text, error.message);
    for (size_t i = 0; i < list.count; i++) {
        char buffer[VALUE_TEXT_BYTES];
        int length = snprintf(joined + used, sizeof joined - used, "%s%s", i > 0 ? " " : "",
                              value_text(list.values[i], buffer));
        assert_in_range(length, 1, sizeof joined - used - 1);
        used += (size_t)length;
    }
    assert_string_equal(joined, expected);
    value_list_release(&list);
}

static void assert_refused(const char *text, const char *message)
{
    struct value_list list;
    struct error error;
    if (value_list_parse(&list, text, "s.ini", 3, &error) != ERROR_CONFIG)
        fail_msg("'%s' is accepted", text);
    assert_string_equal(error.file, "s.ini");
    assert_int_equal(error.line, 3);
    assert_string_equal(error.message, message);
    assert_int_equal(list.count, 0);
    assert_null(list.values);
}

static void values_and_words(void **state)
{
    (void)state;
    assert_list("1, 2, 4", "1 2 4");
    assert_list("7", "7");
    assert_list("  4,2 ,\t1  ", "4 2 1");
    assert_list("2^10, 2^20", "1024 1048576");
    assert_list("lock, lock_free", "lock lock_free");
    assert_list("-1, 0.5, none", "-1 0.5 none");
    assert_list("stepping, step", "stepping step");
}

static void ranges(void **state)
{
    (void)state;
    assert_list("1..5", "1 2 3 4 5");
    assert_list("32..128 step 32", "32 64 96 128");
    assert_list("1..10 step 4", "1 5 9");
    assert_list("32..1024 step *2", "32 64 128 256 512 1024");
    assert_list("1..100 step * 10", "1 10 100");
    assert_list("3..100 step *3", "3 9 27 81");
    assert_list("5..5", "5");
    assert_list("-2..2 step 2", "-2 0 2");
    assert_list("2^3..2^5 step *2", "8 16 32");
    assert_list("1 .. 3", "1 2 3");
    assert_list("0, 8..32 step *2, 100, auto", "0 8 16 32 100 auto");
}

static void ranges_end_at_64_bits(void **state)
{
    (void)state;
    assert_list("9223372036854775806..9223372036854775807",
                "9223372036854775806 9223372036854775807");
    assert_list("2^61..9223372036854775807 step *2", "2305843009213693952 4611686018427387904");
    assert_list("-9223372036854775807..9223372036854775807 step 9223372036854775807",
                "-9223372036854775807 0 9223372036854775807");
}

static void refused_ranges(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "5..1",
        "1..",
        "..5",
        "1..5 step 0",
        "1..5 step -1",
        "1..5 step *1",
        "0..8 step *2",
        "-4..8 step *2",
        "1..5 step",
        "1..5 step x",
        "0.5..2",
        "1..5.5",
        "a..b",
        "1...5",
        "1..5..9",
        "1..10 20",
        "1 2..10",
        "1..10 step 2 3",
        "8..16 or step 2",
        "1..2^63",
        "1..5 step *",
        "1..5 step 2^63",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char message[256];
        assert_true(snprintf(message, sizeof message,
                             "'%s' in a list: a range is written 32..1024 step 32 or 32..1024 "
                             "step *2, with whole numbers, ascending",
                             texts[i]) > 0);
        assert_refused(texts[i], message);
    }
}

static void ranges_have_at_most_4096_values(void **state)
{
    (void)state;
    struct value_list list;
    struct error error;
    assert_int_equal(value_list_parse(&list, "1..4096", "s.ini", 3, &error), 0);
    assert_int_equal(list.count, 4096);
    assert_int_equal(list.values[4095].as.integer, 4096);
    value_list_release(&list);
    assert_refused("1..4097", "'1..4097' in a list: the range has more than 4096 values");
    assert_refused("0..9223372036854775807",
                   "'0..9223372036854775807' in a list: the range has more than 4096 values");
}

static void nothing_twice(void **state)
{
    (void)state;
    assert_refused("1, 2, 1", "'1' in a list: the value is given twice; remove one");
    assert_refused("a, b, a", "'a' in a list: the value is given twice; remove one");
    assert_refused("4, 1..5", "'1..5' in a list: the value is given twice; remove one");
    assert_refused("1024, 2^10", "'2^10' in a list: the value is given twice; remove one");
}

static void nothing_between_commas(void **state)
{
    (void)state;
    assert_refused("", "the list of values is empty");
    assert_refused("  ", "the list of values is empty");
    assert_refused("1,,2", "a value is missing between two commas of the list");
    assert_refused("1,2,", "a value is missing between two commas of the list");
    assert_refused(",1", "a value is missing between two commas of the list");
}

static void refused_values(void **state)
{
    (void)state;
    assert_refused("1, 2^63", "'2^63' does not fit in 64 bits");
    assert_refused("1 2", "'1 2' is neither a number nor a lower-case word; "
                          "write 256, 2^20, 0.5 or last_block");
}

static void a_single_value(void **state)
{
    (void)state;
    struct value_list list;
    char word[] = "atomic";
    value_list_single(&list, value_word(word));
    word[0] = 'x';
    assert_int_equal(list.count, 1);
    assert_true(value_equal(list.values[0], value_word("atomic")));
    value_list_release(&list);
    assert_int_equal(list.count, 0);
}

static void assert_split(const char *text, char separator, const char *const *expected)
{
    char **parts;
    size_t count = text_split(text, separator, &parts);
    for (size_t i = 0; i < count; i++) {
        assert_non_null(expected[i]);
        assert_string_equal(parts[i], expected[i]);
    }
    assert_null(expected[count]);
    text_split_release(parts, count);
}

static void splitting(void **state)
{
    (void)state;
    assert_split("a, b ,c", ',', (const char *const[]){"a", "b", "c", NULL});
    assert_split("min(a, b), (c, (d, e)), f", ',',
                 (const char *const[]){"min(a, b)", "(c, (d, e))", "f", NULL});
    assert_split("\"a,b\", 'c,\"d'", ',', (const char *const[]){"\"a,b\"", "'c,\"d'", NULL});
    assert_split(" one | two", '|', (const char *const[]){"one", "two", NULL});
    assert_split("a,,b,", ',', (const char *const[]){"a", "", "b", "", NULL});
    assert_split(" \t ", ',', (const char *const[]){NULL});
    assert_split("", ',', (const char *const[]){NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_words),
        cmocka_unit_test(ranges),
        cmocka_unit_test(ranges_end_at_64_bits),
        cmocka_unit_test(refused_ranges),
        cmocka_unit_test(ranges_have_at_most_4096_values),
        cmocka_unit_test(nothing_twice),
        cmocka_unit_test(nothing_between_commas),
        cmocka_unit_test(refused_values),
        cmocka_unit_test(a_single_value),
        cmocka_unit_test(splitting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
