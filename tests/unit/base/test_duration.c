#include "base/duration.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_reads(const char *text, double expected_s)
{
    double seconds = 0;
    assert_true(duration_parse(text, &seconds));
    assert_true(seconds == expected_s);
}

static void seconds_minutes_and_hours(void **state)
{
    (void)state;
    assert_reads("60s", 60);
    assert_reads("10m", 600);
    assert_reads("2h", 7200);
    assert_reads("1.5h", 5400);
    assert_reads("0.25s", 0.25);
    assert_reads("45", 45);
    assert_reads("366h", 366 * 3600.0);
}

static void what_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"",    "s",    "0",   "0s",  "-5s",    "5d",     "5 s",
                                        "5s ", "1h5m", "nan", "inf", "10000h", "1e400s", "minute"};
    double seconds;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(duration_parse(texts[i], &seconds));
}

static void assert_text(double seconds, const char *expected)
{
    char buffer[DURATION_BYTES];
    assert_string_equal(duration_text(seconds, buffer), expected);
}

static void texts_have_the_largest_unit_that_fits(void **state)
{
    (void)state;
    assert_text(0.42, "0.4 s");
    assert_text(41.7, "42 s");
    assert_text(119, "119 s");
    assert_text(120, "2.0 minutes");
    assert_text(395, "6.6 minutes");
    assert_text(3 * 3600, "3.0 hours");
    assert_text(40 * 3600, "40 hours");
    assert_text(3e6, "35 days");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seconds_minutes_and_hours),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(texts_have_the_largest_unit_that_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
