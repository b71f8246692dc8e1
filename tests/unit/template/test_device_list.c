/* Lists of GPUs, as users write them. */
#include "template/device_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void numbers_and_all_are_read(void **state)
{
    (void)state;
    struct device_list list;
    assert_true(device_list_parse("0", &list));
    assert_true(device_list_is_stated(&list));
    assert_int_equal(list.count, 1);
    assert_true(device_list_parse("0,2, 13", &list));
    assert_int_equal(list.count, 3);
    assert_int_equal(list.ordinals[0], 0);
    assert_int_equal(list.ordinals[1], 2);
    assert_int_equal(list.ordinals[2], 13);
    assert_false(list.all);
    assert_true(device_list_parse("all", &list));
    assert_true(list.all);
    assert_true(device_list_is_stated(&list));
}

static void anything_else_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",    "-1",  "0,",    ",0",  "0 1", "0,0",
                                        "All", "0-3", "all,0", "1.5", "+1",  "10000",
                                        "x",   " ",   "0,,1",  "0;1", "0x1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct device_list list;
        assert_false(device_list_parse(wrong[i], &list));
        assert_false(device_list_is_stated(&list));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_all_are_read),
        cmocka_unit_test(anything_else_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
