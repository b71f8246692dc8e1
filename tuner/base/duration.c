#include "base/duration.h"

#include "base/literal.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define LONGEST_S (366 * 86400.0)

/* Seconds in a unit; 0 for anything else. */
static double unit_s(char unit)
{
    switch (unit) {
    case 's':
        return 1;
    case 'm':
        return 60;
    case 'h':
        return 3600;
    default:
        return 0;
    }
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
