#include "report/chart.h"

#include "base/alloc.h"
#include "report/html_text.h"
#include "report/plot_marks.h"

#include <stdarg.h>
#include <stdlib.h>

void chart_begin(struct plot *plot, const char *title, const char *caption_format, ...)
{
    va_list arguments;
    char *caption;
    va_start(arguments, caption_format);
    if (vasprintf(&caption, caption_format, arguments) < 0)
        abort(); /* out of memory, as in alloc.h */
    va_end(arguments);
    fputs("<figure><figcaption><b>", plot->stream);
    html_text(plot->stream, title);
    fputs("</b> ", plot->stream);
    html_text(plot->stream, caption);
    fputs("</figcaption><div class=\"plot-box\">", plot->stream);
    free(caption);
    plot_begin(plot, title);
}

void chart_end(const struct plot *plot)
{
    plot_end(plot);
    fputs("</div></figure>\n", plot->stream);
}

enum chart_mark chart_mark(const struct study *study, size_t index)
{
    if (study->has_winner && study->winner == index)
        return CHART_WINNER;
    return study->results[index].tied ? CHART_TIE : CHART_PLAIN;
}

double chart_number(const struct importance *importance, const struct result *result)
{
    double number = importance_number(importance, result);
    return importance->of_time ? number / 1000 : 100 * number;
}

const char *chart_number_label(const struct importance *importance)
{
    return importance->of_time ? "time, µs" : "occupancy, %";
}

struct plot_range chart_x_range(const struct chart_point *points, size_t count)
{
    struct plot_range range = PLOT_RANGE_EMPTY;
    for (size_t i = 0; i < count; i++)
        plot_range_add(&range, points[i].x);
    return range;
}

struct plot_range chart_y_range(const struct chart_point *points, size_t count)
{
    struct plot_range range = PLOT_RANGE_EMPTY;
    for (size_t i = 0; i < count; i++)
        plot_range_add(&range, points[i].y);
    return range;
}

static void draw_plain(const struct plot *plot, const struct chart_point *points, size_t count)
{
    struct plot_point *plain = alloc_zeroed(count, sizeof *plain);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (points[i].mark == CHART_PLAIN)
            plain[kept++] = (struct plot_point){points[i].x, points[i].y};
    plot_dots(plot, plain, kept, COLOUR_dot, count > 300 ? 1.8 : count > 60 ? 2.3 : 2.8);
    free(plain);
}

void chart_scatter(const struct plot *plot, const struct chart_point *points, size_t count)
{
    static const enum colour colours[] = {[CHART_TIE] = COLOUR_tie, [CHART_WINNER] = COLOUR_winner};
    static const double radii[] = {[CHART_TIE] = 3.3, [CHART_WINNER] = 4.2};
    draw_plain(plot, points, count);
    for (int mark = CHART_TIE; mark < CHART_MARK_COUNT; mark++)
        for (size_t i = 0; i < count; i++)
            if ((int)points[i].mark == mark)
                plot_dot(plot, (struct plot_point){points[i].x, points[i].y}, colours[mark],
                         radii[mark]);
}
