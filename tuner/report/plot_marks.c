#include "report/plot_marks.h"

#include "base/alloc.h"
#include "report/html_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static const double CELL = 0.94; /* the share of its place that a cell fills */
static const double SMALL = 0.8; /* of the style sheet's class */

/* --- dots --- */

/* Half pixels, as plots are wider than their pixels on a wide screen. */
struct pixel {
    int x;
    int y;
};

static int compare_pixels(const void *left, const void *right)
{
    const struct pixel *a = left;
    const struct pixel *b = right;
    return a->x != b->x ? a->x - b->x : a->y - b->y;
}

/* The pixels of points that have a place, in order, each once; a new array. */
static struct pixel *pixels_of(const struct plot *plot, const struct plot_point *points,
                               size_t count, size_t *kept)
{
    struct pixel *pixels = alloc_zeroed(count, sizeof *pixels);
    size_t placed = 0;
    for (size_t i = 0; i < count; i++) {
        double x = plot_x(plot, points[i].x);
        double y = plot_y(plot, points[i].y);
        if (!isnan(x) && !isnan(y))
            pixels[placed++] = (struct pixel){(int)lround(2 * x), (int)lround(2 * y)};
    }
    if (placed > 1)
        qsort(pixels, placed, sizeof *pixels, compare_pixels);
    *kept = 0;
    for (size_t i = 0; i < placed; i++)
        if (*kept == 0 || compare_pixels(&pixels[*kept - 1], &pixels[i]) != 0)
            pixels[(*kept)++] = pixels[i];
    return pixels;
}

/* Pages have thousands of dots: each is a line of no length with round ends, relative to the one
 * before it. */
void plot_dots(const struct plot *plot, const struct plot_point *points, size_t count,
               enum colour colour, double radius)
{
    size_t kept;
    struct pixel before = {0, 0};
    struct pixel *pixels = pixels_of(plot, points, count, &kept);
    if (kept > 0) {
        svg_begin(plot->stream, "path", colour, "dots");
        svg_attribute(plot->stream, "stroke-width", 4 * radius);
        fputs(" transform=\"scale(.5)\" d=\"", plot->stream);
    }
    for (size_t i = 0; i < kept; i++) {
        int down = pixels[i].y - before.y;
        fprintf(plot->stream, "m%d%s%dh0", pixels[i].x - before.x, down < 0 ? "" : " ", down);
        before = pixels[i];
    }
    fputs(kept > 0 ? "\"/>\n" : "", plot->stream);
    free(pixels);
}

/* A number of an axis as people read it. */
static void write_reading(FILE *stream, const struct plot_axis *axis, double number)
{
    char text[PLOT_TICK_BYTES];
    bool is_word = number >= 0 && number < (double)axis->word_count;
    html_text(stream, is_word ? axis->words[(size_t)number] : plot_number_text(number, text));
}

void plot_dot(const struct plot *plot, struct plot_point point, enum colour colour, double radius)
{
    double x = plot_x(plot, point.x);
    double y = plot_y(plot, point.y);
    if (isnan(x) || isnan(y))
        return;
    svg_begin(plot->stream, "circle", colour, "");
    svg_attribute(plot->stream, "cx", x);
    svg_attribute(plot->stream, "cy", y);
    svg_attribute(plot->stream, "r", radius);
    fputs("><title>", plot->stream);
    write_reading(plot->stream, &plot->x, point.x);
    fputs(": ", plot->stream);
    write_reading(plot->stream, &plot->y, point.y);
    fputs("</title></circle>\n", plot->stream);
}

/* --- lines --- */

void plot_line(const struct plot *plot, const struct plot_line_style *style,
               const struct plot_point *points, size_t count)
{
    double last = NAN; /* y; NAN until there is a point */
    svg_begin(plot->stream, "path", style->colour, "");
    plot_write_line_style(plot, style);
    fputs(" d=\"", plot->stream);
    for (size_t i = 0; i < count; i++) {
        double x = plot_x(plot, points[i].x);
        double y = plot_y(plot, points[i].y);
        if (isnan(x) || isnan(y))
            continue;
        if (style->kind == PLOT_STEPS && !isnan(last))
            svg_step(plot->stream, 'L', x, last);
        svg_step(plot->stream, isnan(last) ? 'M' : 'L', x, y);
        last = y;
    }
    fputs("\"/>\n", plot->stream);
    for (size_t i = 0; i < count && style->radius > 0; i++)
        plot_dot(plot, points[i], style->colour, style->radius);
}

void plot_interval(const struct plot *plot, double x, double low, double high, enum colour colour)
{
    const struct plot_line_style style = {.colour = colour, .width = 2};
    const struct plot_point ends[] = {{x, low}, {x, high}};
    plot_line(plot, &style, ends, 2);
}

/* --- cells and notes --- */

static void write_box(const struct plot *plot, size_t column, size_t row)
{
    double width = (plot->right - plot->left) / (double)plot->x.word_count;
    double height = (plot->bottom - plot->top) / (double)plot->y.word_count;
    svg_attribute(plot->stream, "x", plot_x(plot, (double)column) - CELL * width / 2);
    svg_attribute(plot->stream, "y", plot_y(plot, (double)row) - CELL * height / 2);
    svg_attribute(plot->stream, "width", CELL * width);
    svg_attribute(plot->stream, "height", CELL * height);
    fputs("/>\n", plot->stream);
}

void plot_frame(const struct plot *plot, size_t column, size_t row, enum colour colour)
{
    svg_begin(plot->stream, "rect", colour, "frame");
    write_box(plot, column, row);
}

/* Text in a smaller font, or upright, where it does not fit across its cell. */
void plot_cell(const struct plot *plot, size_t column, size_t row, enum colour fill,
               enum colour colour, const char *text)
{
    double width = CELL * (plot->right - plot->left) / (double)plot->x.word_count;
    double needed = plot_text_width(text);
    bool small = needed > width;
    double x = plot_x(plot, (double)column);
    double y = plot_y(plot, (double)row);
    svg_begin(plot->stream, "rect", fill, "");
    write_box(plot, column, row);
    svg_begin(plot->stream, "text", colour, small ? "middle small" : "middle");
    svg_attribute(plot->stream, "x", x);
    svg_attribute(plot->stream, "y", y + PLOT_HALF_LETTER);
    if (small && SMALL * needed > width)
        svg_rotate(plot->stream, -90, x, y);
    svg_text(plot->stream, text);
}

void plot_note(const struct plot *plot, struct plot_point point, enum plot_note_place place,
               enum colour colour, const char *text)
{
    bool right = place == PLOT_RIGHT_BELOW;
    double x = plot_x(plot, point.x);
    double y = plot_y(plot, point.y) + (right ? PLOT_LINE : -PLOT_GAP);
    if (isnan(x) || isnan(y))
        return;
    svg_begin(plot->stream, "text", colour, right ? "note" : "note end");
    svg_attribute(plot->stream, "x",
                  right ? fmin(x + PLOT_GAP, plot->right - plot_text_width(text)) : x);
    svg_attribute(plot->stream, "y", y);
    svg_text(plot->stream, text);
}
