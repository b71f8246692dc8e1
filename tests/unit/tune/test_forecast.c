#include "tune/progress.h"

#include "unit/test.h"

static void assert_forecast(double elapsed_s, size_t done, size_t left, bool can_search,
                            const char *expected)
{
    char text[FORECAST_BYTES];
    assert_true(forecast(elapsed_s, done, left, can_search, text));
    assert_string_equal(text, expected);
}

static void a_long_run_says_how_long(void **state)
{
    assert_forecast(4, 200, 17000, true, "about 5.7 minutes left: 17000 variants at 20 ms each");
    assert_forecast(12.5, 5, 375, true, "about 16 minutes left: 375 variants at 2.5 s each");
}

static void hours_name_the_options(void **state)
{
    assert_forecast(4, 40, 100000, true,
                    "about 2.8 hours left: 100000 variants at 100 ms each; --budget 10m or "
                    "--evaluations 1000 tries only the most promising");
    assert_forecast(4, 40, 100000, false, "about 2.8 hours left: 100000 variants at 100 ms each");
}

static void nothing_is_said_too_early_or_of_a_short_run(void **state)
{
    char text[FORECAST_BYTES];
    assert_false(forecast(0, 0, 100000, true, text));
    assert_false(forecast(2, 100, 100000, true, text));
    assert_false(forecast(5, 3, 100000, true, text));
    assert_false(forecast(5, 500, 1000, true, text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_run_says_how_long),
        cmocka_unit_test(hours_name_the_options),
        cmocka_unit_test(nothing_is_said_too_early_or_of_a_short_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
