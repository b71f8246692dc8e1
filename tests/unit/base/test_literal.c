#include "base/literal.h"
#include "unit/comma_locale.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct literal parse(const char *text)
{
    struct literal literal;
    const char *wrong = literal_parse(text, &literal);
    if (wrong != NULL)
        fail_msg("'%s' %s", text, wrong);
    return literal;
}

static void assert_integer(const char *text, int64_t expected)
{
    struct literal literal = parse(text);
    double real = (double)expected;
    assert_int_equal(literal.kind, LITERAL_INTEGER);
    assert_true(literal.integer == expected);
    assert_memory_equal(&literal.real, &real, sizeof real);
}

static void assert_real(const char *text, double expected)
{
    struct literal literal = parse(text);
    assert_int_equal(literal.kind, LITERAL_REAL);
    assert_int_equal(literal.integer, 0);
    assert_memory_equal(&literal.real, &expected, sizeof expected);
}

static void integers(void **state)
{
    (void)state;
    assert_integer("256", 256);
    assert_integer("-8", -8);
    assert_integer("+8", 8);
    assert_integer("0", 0);
    assert_integer("007", 7);
    assert_integer("9223372036854775807", INT64_MAX);
    assert_integer("-9223372036854775808", INT64_MIN);
}

static void powers(void **state)
{
    (void)state;
    assert_integer("2^20", 1048576);
    assert_integer("10^18", 1000000000000000000);
    assert_integer("2^62", (int64_t)1 << 62);
    assert_integer("-2^63", INT64_MIN);
    assert_integer("-2^2", -4); /* as in an expression */
    assert_integer("7^0", 1);
    assert_integer("0^0", 1);
    assert_integer("1^63", 1);
}

static void reals(void **state)
{
    (void)state;
    assert_real("0.5", 0.5);
    assert_real("1e-3", 0.001);
    assert_real("1E+3", 1000);
    assert_real("-1.5", -1.5);
    assert_real("1.0", 1);
    assert_real("5.", 5);
    assert_real(".5e1", 5);
    assert_real("1.7976931348623157e308", DBL_MAX);
    assert_real("5e-324", 5e-324);
    assert_real("0e999", 0);
    assert_real("99999999999999999999.0", 1e20);
}

static void words(void **state)
{
    (void)state;
    static const char *const texts[] = {"last_block", "a2", "inf", "nan", "e5", "x"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct literal literal = parse(texts[i]);
        assert_int_equal(literal.kind, LITERAL_WORD);
        assert_int_equal(literal.integer, 0);
        assert_true(fabs(literal.real) <= 0);
    }
    char text[LITERAL_WORD_LETTERS + 2];
    struct literal literal;
    memset(text, 'a', sizeof text);
    text[LITERAL_WORD_LETTERS] = '\0';
    assert_null(literal_parse(text, &literal));
    text[LITERAL_WORD_LETTERS] = 'a';
    text[LITERAL_WORD_LETTERS + 1] = '\0';
    assert_string_equal(literal_parse(text, &literal), "is longer than 63 letters");
}

static void what_is_refused_and_why(void **state)
{
    (void)state;
    static const char range[] = "does not fit in 64 bits";
    static const char power[] = "is not a power; write it as 2^20";
    static const char large[] = "does not fit in a double";
    static const char nothing[] =
        "is neither a number nor a lower-case word; write 256, 2^20, 0.5 or last_block";
    static const struct {
        const char *text;
        const char *wrong;
    } cases[] = {
        {"2^63", range},
        {"3^62", range},
        {"2^64", range},
        {"1^64", range},
        {"9223372036854775808", range},
        {"-9223372036854775809", range},
        {"99999999999999999999", range},
        {"99999999999999999999^2", range},
        {"2^99999999999999999999", range},
        {"2^", power},
        {"2^-1", power},
        {"2^+1", power},
        {"2^ 1", power},
        {"2^1.5", power},
        {"2^x", power},
        {"1e999", large},
        {"-1e999", large},
        {"1e-999", large},
        {"Atomic", nothing},
        {"two pass", nothing},
        {"_x", nothing},
        {"1k", nothing},
        {"", nothing},
        {"-", nothing},
        {"^2", nothing},
        {".", nothing},
        {".e5", nothing},
        {"1e", nothing},
        {"1e+", nothing},
        {"1.2.3", nothing},
        {"--1", nothing},
        {" 1", nothing},
        {"1 ", nothing},
        {"-inf", nothing},
        {"-nan", nothing},
        {"0x10", nothing},
        {"0x1p3", nothing},
        {"1,2", nothing},
        {"1'000", nothing},
        {"\"word\"", nothing},
        {"h\xc3\xa4ngt", nothing},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct literal literal;
        const char *wrong = literal_parse(cases[i].text, &literal);
        if (wrong == NULL)
            fail_msg("'%s' is accepted", cases[i].text);
        assert_string_equal(wrong, cases[i].wrong);
    }
}

static void assert_reads_back(double real)
{
    char text[LITERAL_REAL_BYTES];
    struct literal literal = parse(literal_real_text(real, text));
    assert_memory_equal(&literal.real, &real, sizeof real);
}

/* Finite doubles of all magnitudes, from a linear congruential generator. */
static void real_texts_read_back_to_the_last_bit(void **state)
{
    (void)state;
    static const double numbers[] = {0.0,           1.0 / 3.0, 0.1 + 0.2,
                                     123456789.125, 5e-324,    DBL_MAX,
                                     DBL_MIN,       -DBL_MAX,  -2.2250738585072014e-308,
                                     1e22};
    uint64_t random = 1;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_reads_back(numbers[i]);
    for (int i = 0; i < 10000; i++) {
        double real;
        random = random * 6364136223846793005U + 1442695040888963407U;
        memcpy(&real, &random, sizeof real);
        if (isfinite(real))
            assert_reads_back(real);
    }
}

static void the_locale_changes_nothing(void **state)
{
    char text[LITERAL_REAL_BYTES];
    struct literal literal;
    if (!comma_locale_enter())
        skip();
    assert_int_equal(snprintf(text, sizeof text, "%.1f", 0.5), 3);
    assert_string_equal(text, "0,5");
    reals(state);
    integers(state);
    powers(state);
    real_texts_read_back_to_the_last_bit(state);
    assert_non_null(literal_parse("0,5", &literal));
    assert_non_null(literal_parse("1.000.000", &literal));
    /* and is what it was */
    assert_int_equal(snprintf(text, sizeof text, "%.1f", 0.5), 3);
    assert_string_equal(text, "0,5");
    comma_locale_leave();
}

/* --- durations --- */

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

static void what_is_no_duration(void **state)
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
        cmocka_unit_test(integers),
        cmocka_unit_test(powers),
        cmocka_unit_test(reals),
        cmocka_unit_test(words),
        cmocka_unit_test(what_is_refused_and_why),
        cmocka_unit_test(real_texts_read_back_to_the_last_bit),
        cmocka_unit_test(the_locale_changes_nothing),
        cmocka_unit_test(seconds_minutes_and_hours),
        cmocka_unit_test(what_is_no_duration),
        cmocka_unit_test(texts_have_the_largest_unit_that_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
