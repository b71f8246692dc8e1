#include "tune/forecast.h"

#include "base/literal.h"

#include <stdio.h>

enum { ENOUGH_VARIANTS = 20 };

static const double early_s = 3; /* before it, too little is known … */
static const double late_s = 10; /* after it, few variants will do */
static const double long_s = 30; /* worth saying */
static const double hours_s = 3600;

bool forecast(double elapsed_s, size_t done, size_t left, bool can_search,
              char text[FORECAST_BYTES])
{
    char duration[DURATION_BYTES];
    char each[DURATION_BYTES];
    if (done == 0 || elapsed_s < early_s || (elapsed_s < late_s && done < ENOUGH_VARIANTS))
        return false;
    double each_s = elapsed_s / (double)done;
    double left_s = each_s * (double)left;
    if (left_s < long_s)
        return false;
    (void)snprintf(each, sizeof each, each_s < 1 ? "%.3g ms" : "%.1f s",
                   each_s < 1 ? each_s * 1e3 : each_s);
    (void)snprintf(text, FORECAST_BYTES, "about %s left: %zu variants at %s each%s",
                   duration_text(left_s, duration), left, each,
                   can_search && left_s >= hours_s
                       ? "; --budget 10m or --evaluations 1000 tries only the most promising"
                       : "");
    return true;
}
