#include "tune/compile_doubt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void eight_failures_alike_are_told_once(void **state)
{
    (void)state;
    struct compile_doubt doubt = {0};
    for (size_t i = 1; i < DOUBT_VARIANTS; i++)
        assert_false(compile_doubt_note(&doubt, "k.cu(1): error"));
    assert_true(compile_doubt_note(&doubt, "k.cu(1): error"));
    assert_int_equal(doubt.failures, DOUBT_VARIANTS);
    assert_string_equal(doubt.reason, "k.cu(1): error");
    for (size_t i = 0; i < 2 * DOUBT_VARIANTS; i++)
        assert_false(compile_doubt_note(&doubt, "k.cu(1): error"));
}

static void one_that_compiles_settles_it(void **state)
{
    (void)state;
    struct compile_doubt doubt = {0};
    for (size_t i = 1; i < DOUBT_VARIANTS; i++)
        assert_false(compile_doubt_note(&doubt, "k.cu(1): error"));
    assert_false(compile_doubt_note(&doubt, NULL));
    for (size_t i = 0; i < 2 * DOUBT_VARIANTS; i++)
        assert_false(compile_doubt_note(&doubt, "k.cu(1): error"));
}

static void another_message_settles_it(void **state)
{
    (void)state;
    struct compile_doubt doubt = {0};
    assert_false(compile_doubt_note(&doubt, "k.cu(1): error"));
    for (size_t i = 0; i < 2 * DOUBT_VARIANTS; i++)
        assert_false(compile_doubt_note(&doubt, "k.cu(2): error"));
}

static void long_messages_are_compared_as_far_as_they_are_kept(void **state)
{
    (void)state;
    struct compile_doubt doubt = {0};
    char reason[2 * DOUBT_REASON_BYTES];
    memset(reason, 'x', sizeof reason);
    reason[sizeof reason - 1] = '\0';
    for (size_t i = 1; i < DOUBT_VARIANTS; i++)
        assert_false(compile_doubt_note(&doubt, reason));
    assert_true(compile_doubt_note(&doubt, reason));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_failures_alike_are_told_once),
        cmocka_unit_test(one_that_compiles_settles_it),
        cmocka_unit_test(another_message_settles_it),
        cmocka_unit_test(long_messages_are_compared_as_far_as_they_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
