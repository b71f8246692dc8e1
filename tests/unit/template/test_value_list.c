#include "template/value_list.h"

#include "base/alloc.h"

#include "unit/cases.h"

static void check_parts(const struct test_case *test)
{
    char **parts;
    char *text = alloc_string("");
    size_t count = text_split(test->fields[0], test->fields[1][0], &parts);
    for (size_t i = 0; i < count; i++)
        alloc_append(&text, "%s%s", i > 0 ? "|" : "", parts[i]);
    case_assert_text(test, text, test->fields[3]);
    free(parts);
    free(text);
}

static void check_case(void *user, const struct test_case *test)
{
    struct value_list list;
    struct error error;
    char *text = alloc_string("");
    (void)user;
    if (test->count == 4) {
        check_parts(test);
    } else if (value_list_parse(&list, test->fields[0], "s.ini", 3, &error) == 0) {
        for (size_t i = 0; i < list.count; i++) {
            char buffer[VALUE_TEXT_BYTES];
            alloc_append(&text, "%s%s", i > 0 ? " " : "", value_text(list.values[i], buffer));
        }
        case_assert_text(test, text, test->fields[1]);
        value_list_release(&list);
    } else {
        if (test->count != 3)
            case_fail(test, "it is refused: %s", error.message);
        case_assert_text(test, error.message, test->fields[2]);
        assert_string_equal(error.file, "s.ini");
        assert_int_equal(error.line, 3);
        assert_int_equal(list.count, 0);
        assert_null(list.values);
    }
    free(text);
}

UNIT_TEST(lists)
{
    cases_run(CASES, check_case, NULL);
}

UNIT_TEST(ranges_have_at_most_4096_values)
{
    struct value_list list;
    struct error error;
    assert_int_equal(value_list_parse(&list, "1..4096", "s.ini", 3, &error), 0);
    assert_int_equal(list.count, 4096);
    assert_int_equal(list.values[4095].as.integer, 4096);
    value_list_release(&list);
}

UNIT_TEST(a_single_value)
{
    struct value_list list = {0};
    char word[] = "atomic";
    (void)value_list_add(&list, value_word(word));
    word[0] = 'x';
    assert_int_equal(list.count, 1);
    assert_true(value_equal(list.values[0], value_word("atomic")));
    value_list_release(&list);
    assert_int_equal(list.count, 0);
}
