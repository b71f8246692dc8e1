#include "base/literal.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_lower(char letter)
{
    return letter >= 'a' && letter <= 'z';
}

static size_t count_digits(const char *text)
{
    return strspn(text, "0123456789");
}

bool literal_is_name(const char *text, size_t letters)
{
    size_t length = 0;
    if (!is_lower(*text))
        return false;
    for (; text[length] != '\0'; length++)
        if (length == letters ||
            !(is_lower(text[length]) || count_digits(text + length) > 0 || text[length] == '_'))
            return false;
    return true;
}

static const char *parse_integer(const char *text, int64_t *integer)
{
    errno = 0;
    *integer = strtoll(text, NULL, 10);
    return errno == 0 ? NULL : "does not fit in 64 bits";
}

/* base^exponent, or its negative; false if it does not fit. */
static bool raise_to(int64_t base, int64_t exponent, bool negative, int64_t *power)
{
    *power = negative ? -1 : 1;
    for (int64_t i = 0; i < exponent; i++)
        if (__builtin_mul_overflow(*power, base, power))
            return false;
    return true;
}

/* Parses "2^24"; `exponent` is the text after the caret. As in expressions, -2^2 is -4. */
static const char *parse_power(const char *text, const char *exponent, int64_t *power)
{
    int64_t base;
    int64_t times;
    size_t length = count_digits(exponent);
    if (length == 0 || exponent[length] != '\0')
        return "is not a power; write it as 2^20";
    bool negative = *text == '-';
    const char *wrong = parse_integer(negative ? text + 1 : text, &base);
    if (wrong == NULL)
        wrong = parse_integer(exponent, &times);
    if (wrong == NULL && (times > 63 || !raise_to(base, times, negative, power)))
        wrong = "does not fit in 64 bits";
    return wrong;
}

/* True if `text` is a decimal number: digits with an optional point and an optional exponent. */
static bool is_decimal(const char *text)
{
    size_t digits = count_digits(text);
    text += digits;
    if (*text == '.') {
        size_t fraction = count_digits(text + 1);
        text += 1 + fraction;
        digits += fraction;
    }
    if (digits > 0 && (*text == 'e' || *text == 'E')) {
        text += text[1] == '-' || text[1] == '+' ? 2 : 1;
        size_t exponent = count_digits(text);
        digits = exponent;
        text += exponent;
    }
    return digits > 0 && *text == '\0';
}

/* The C locale, which writes numbers with a point. glibc and musl do not allocate it. */
static locale_t c_locale(void)
{
    return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static const char *parse_real(const char *text, double *real)
{
    locale_t locale = c_locale();
    if (locale == (locale_t)0)
        return "cannot be read: out of memory";
    errno = 0;
    *real = strtod_l(text, NULL, locale);
    bool vanished = errno == ERANGE && fpclassify(*real) == FP_ZERO;
    freelocale(locale);
    return isfinite(*real) && !vanished ? NULL : "does not fit in a double";
}

const char *literal_parse(const char *text, struct literal *literal)
{
    const char *digits = text + (*text == '-' || *text == '+' ? 1 : 0);
    const char *rest = digits + count_digits(digits);
    const char *wrong = NULL;
    *literal = (struct literal){.kind = LITERAL_INTEGER};
    if (literal_is_name(text, SIZE_MAX)) {
        literal->kind = LITERAL_WORD;
        return literal_is_name(text, LITERAL_WORD_LETTERS) ? NULL : "is longer than 63 letters";
    }
    if (rest > digits && *rest == '^') {
        wrong = parse_power(text, rest + 1, &literal->integer);
    } else if (rest > digits && *rest == '\0') {
        wrong = parse_integer(text, &literal->integer);
    } else if (is_decimal(digits)) {
        literal->kind = LITERAL_REAL;
        return parse_real(text, &literal->real);
    } else {
        return "is neither a number nor a lower-case word; write 256, 2^20, 0.5 or last_block";
    }
    literal->real = (double)literal->integer;
    return wrong;
}

char *literal_real_text(double real, char buffer[LITERAL_REAL_BYTES])
{
    locale_t locale = c_locale();
    locale_t before = uselocale(locale); /* if out of memory, `locale` is 0: no change */
    for (int digits = 6; digits <= 17; digits++) {
        (void)snprintf(buffer, LITERAL_REAL_BYTES, "%.*g", digits, real);
        double back = strtod(buffer, NULL);
        if (!(back < real) && !(back > real))
            break;
    }
    (void)uselocale(before);
    if (locale != (locale_t)0)
        freelocale(locale);
    return buffer;
}

/* --- durations --- */

#define LONGEST_S (366 * 86400.0)

/* Seconds in a unit; 0 for anything else. */
static double unit_s(char unit)
{
    return unit == 's' ? 1 : unit == 'm' ? 60 : unit == 'h' ? 3600 : 0;
}

bool duration_parse(const char *text, double *seconds)
{
    char number[LITERAL_REAL_BYTES] = "";
    struct literal literal;
    size_t length = strlen(text);
    double unit = length > 0 ? unit_s(text[length - 1]) : 0;
    length -= unit > 0;
    if (length == 0 || length >= sizeof number)
        return false;
    (void)snprintf(number, sizeof number, "%.*s", (int)length, text);
    if (literal_parse(number, &literal) != NULL || literal.kind == LITERAL_WORD)
        return false;
    *seconds = literal.real * (unit > 0 ? unit : 1);
    return *seconds > 0 && *seconds <= LONGEST_S;
}

char *duration_text(double seconds, char buffer[DURATION_BYTES])
{
    static const struct {
        double seconds;
        const char *name;
    } units[] = {{86400, "days"}, {3600, "hours"}, {60, "minutes"}, {1, "s"}};
    size_t i = 0;
    while (i < 3 && seconds < 1.995 * units[i].seconds) /* "119 s" rather than "1.98 minutes" */
        i++;
    double number = seconds / units[i].seconds;
    int decimals = number < 9.95 ? 1 : 0;
    (void)snprintf(buffer, DURATION_BYTES, "%.*f %s", decimals, number, units[i].name);
    return buffer;
}
