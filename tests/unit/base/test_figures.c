#include "base/figures.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void numbers_read_back_exactly_in_their_order(void **state)
{
    (void)state;
    struct figures figures = {0};
    const double expected[] = {100, 32, 1e6, 0.1, 1, 10240.000208616257, 9007199254740992};
    json_t *reply = json_pack("{s:s, s:[f, I], s:[i], s:[i, f, f, f]}", "event", "tried",
                              "samples_ns", expected[5], (json_int_t)expected[6], "took_ns", 100,
                              "stats", 32, expected[2], expected[3], expected[4]);
    figures_fold(reply);
    assert_int_equal(json_object_size(reply), 2);
    figures_read(&figures, reply);
    assert_int_equal(figures.count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < figures.count; i++)
        assert_memory_equal(&figures.numbers[i], &expected[i], sizeof(double));
    json_decref(reply);
    figures_release(&figures);
}

static void a_reply_without_numbers_stays_as_it_is(void **state)
{
    (void)state;
    struct figures figures = {0};
    json_t *reply = json_pack("{s:s, s:[]}", "event", "unloaded", "stats");
    figures_fold(reply);
    assert_null(json_object_get(reply, "figures"));
    figures_read(&figures, reply);
    assert_int_equal(figures.count, 0);
    json_decref(reply);
    figures_release(&figures);
}

/* A kernel may have written into the memory of the worker that sends them. */
static void what_is_not_a_number_is_none(void **state)
{
    (void)state;
    struct figures figures = {0};
    json_t *reply = json_pack("{s:s}", "figures", "1 x 2x 3 -4");
    figures_read(&figures, reply);
    assert_int_equal(figures.count, 5);
    assert_true(figures.numbers[0] == 1 && figures.numbers[3] == 3);
    assert_true(isnan(figures.numbers[1]) && isnan(figures.numbers[2]));
    json_object_set_new(reply, "figures", json_integer(1));
    figures_read(&figures, reply);
    assert_int_equal(figures.count, 0);
    json_decref(reply);
    figures_release(&figures);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_read_back_exactly_in_their_order),
        cmocka_unit_test(a_reply_without_numbers_stays_as_it_is),
        cmocka_unit_test(what_is_not_a_number_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
