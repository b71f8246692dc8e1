#include "cover/threshold.h"

#include "base/literal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool separates(double threshold, double low, double high)
{
    return low < threshold && threshold <= high;
}

static double middle_of(double low, double high)
{
    return low > 0 ? sqrt(low) * sqrt(high) : (low + high) / 2;
}

/* `factor` times the power of two that brings it nearest to the middle; 0 if none separates. */
static double scaled_power(double factor, double low, double high)
{
    double power = round(log2(middle_of(low, high) / factor));
    double best = factor * exp2(power);
    if (separates(best, low, high))
        return best;
    if (separates(2 * best, low, high))
        return 2 * best;
    return separates(best / 2, low, high) ? best / 2 : 0;
}

/* The number of the form i * 10^exponent that is nearest to `middle`, or the next one above. */
static double decimal(double middle, int exponent, int above)
{
    double power = 1;
    for (int i = 0; i < abs(exponent); i++)
        power *= 10;
    return exponent >= 0 ? (round(middle / power) + above) * power
                         : (round(middle * power) + above) / power;
}

/* The number with the fewest digits, nearest to the middle. */
static double fewest_digits(double low, double high, bool whole)
{
    enum { DIGITS = 17 };
    double middle = middle_of(low, high);
    int exponent = (int)ceil(log10(fmax(fabs(high), 1e-200)));
    for (int last = whole ? 0 : exponent - DIGITS; exponent >= last; exponent--)
        for (int above = 0; above <= 1; above++)
            if (separates(decimal(middle, exponent, above), low, high))
                return decimal(middle, exponent, above);
    return high;
}

double threshold_between(double low, double high, bool whole)
{
    if (high >= 16) { /* below, decimals read better */
        static const double factors[] = {1, 3};
        for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
            double power = low >= 1 ? scaled_power(factors[i], low, high) : 0;
            if (power > 0)
                return power;
        }
    }
    return fewest_digits(low, high, whole);
}

char *threshold_text(double threshold, char text[THRESHOLD_TEXT_BYTES])
{
    int exponent;
    if (threshold >= 1024 && frexp(threshold, &exponent) <= 0.5)
        (void)snprintf(text, THRESHOLD_TEXT_BYTES, "2^%d", exponent - 1);
    else
        (void)literal_real_text(threshold, text);
    return text;
}
