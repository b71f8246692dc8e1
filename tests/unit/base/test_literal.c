#include "base/literal.h"

#include "unit/cases.h"
#include "unit/comma_locale.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

static struct literal parse(const char *text)
{
    struct literal literal;
    const char *wrong = literal_parse(text, &literal);
    if (wrong != NULL)
        fail_msg("'%s' %s", text, wrong);
    return literal;
}

/* A number that the C locale writes so. */
static double number(const char *text)
{
    locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double value = strtod_l(text, NULL, locale);
    freelocale(locale);
    return value;
}

static void check_literal(const struct test_case *test, const char *expected)
{
    char text[DURATION_BYTES];
    struct literal literal = parse(test->fields[0]);
    if (literal.kind == LITERAL_INTEGER)
        (void)snprintf(text, sizeof text, "%" PRId64, literal.integer);
    if (strcmp(test->fields[1], "integer") == 0) {
        assert_int_equal(literal.kind, LITERAL_INTEGER);
        case_assert_text(test, text, expected);
        assert_true(literal.real == (double)literal.integer);
    } else {
        double real = test->count > 2 ? number(expected) : 0;
        assert_int_equal(literal.kind, test->count > 2 ? LITERAL_REAL : LITERAL_WORD);
        assert_int_equal(literal.integer, 0);
        assert_memory_equal(&literal.real, &real, sizeof real);
    }
}

static void check_case(void *user, const struct test_case *test)
{
    const char *text = test->fields[0], *kind = test->fields[1];
    const char *expected = test->count > 2 ? test->fields[2] : "";
    char buffer[DURATION_BYTES];
    double seconds = 0;
    struct literal literal;
    if (strcmp(kind, "wrong") == 0) {
        const char *wrong = literal_parse(text, &literal);
        case_assert_text(test, wrong != NULL ? wrong : "accepted", expected);
    } else if (strcmp(kind, "seconds") == 0) {
        bool good = duration_parse(text, &seconds);
        if (good != (strcmp(expected, "none") != 0) || (good && seconds != number(expected)))
            case_fail(test, "it is %g", seconds);
    } else if (strcmp(kind, "duration") == 0) {
        if (user == NULL) /* otherwise it has another decimal point */
            case_assert_text(test, duration_text(number(text), buffer), expected);
    } else {
        check_literal(test, expected);
    }
}

UNIT_TEST(literals_and_durations)
{
    cases_run(CASES, check_case, NULL);
}

UNIT_TEST(words_have_at_most_63_letters)
{
    char text[LITERAL_WORD_LETTERS + 2];
    struct literal literal;
    memset(text, 'a', sizeof text);
    text[LITERAL_WORD_LETTERS] = '\0';
    assert_null(literal_parse(text, &literal));
    text[LITERAL_WORD_LETTERS] = 'a';
    text[LITERAL_WORD_LETTERS + 1] = '\0';
    assert_string_equal(literal_parse(text, &literal), "is longer than 63 letters");
}

static void assert_reads_back(double real)
{
    char text[LITERAL_REAL_BYTES];
    struct literal literal = parse(literal_real_text(real, text));
    assert_memory_equal(&literal.real, &real, sizeof real);
}

/* Finite doubles of all magnitudes, from a linear congruential generator. */
UNIT_TEST(real_texts_read_back_to_the_last_bit)
{
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

UNIT_TEST(the_locale_changes_nothing)
{
    char text[LITERAL_REAL_BYTES];
    if (!comma_locale_enter())
        skip();
    assert_int_equal(snprintf(text, sizeof text, "%.1f", 0.5), 3);
    assert_string_equal(text, "0,5");
    cases_run(CASES, check_case, text);
    real_texts_read_back_to_the_last_bit(state);
    /* and is what it was */
    assert_int_equal(snprintf(text, sizeof text, "%.1f", 0.5), 3);
    assert_string_equal(text, "0,5");
    comma_locale_leave();
}
