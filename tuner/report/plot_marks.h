/*
 * What is drawn in a plot. Coordinates are those of the axes; the words of an axis are at 0, 1, 2 and
 * so on. Numbers with no place on an axis (NaN, or zero on a logarithmic one) are not drawn.
 */
#ifndef AUTOTUNE_PLOT_MARKS_H
#define AUTOTUNE_PLOT_MARKS_H

#include "report/plot.h"

#include <stddef.h>

struct plot_point {
    double x;
    double y;
};

/* Any number of dots as one path; several at the same pixel are drawn once. */
void plot_dots(const struct plot *plot, const struct plot_point *points, size_t count,
               enum colour colour, double radius);

/* One dot with its numbers as a tooltip. */
void plot_dot(const struct plot *plot, struct plot_point point, enum colour colour, double radius);

/* A line through the points, and dots at them if its style has any. */
void plot_line(const struct plot *plot, const struct plot_line_style *style,
               const struct plot_point *points, size_t count);

/* An interval at `x`, as a vertical bar. */
void plot_interval(const struct plot *plot, double x, double low, double high, enum colour colour);

/* A cell where words of both axes meet, with its text as large as fits; a frame around a cell. */
void plot_cell(const struct plot *plot, size_t column, size_t row, enum colour fill,
               enum colour colour, const char *text);
void plot_frame(const struct plot *plot, size_t column, size_t row, enum colour colour);

/* A note to the right of a point and below it, or one that ends above it. */
enum plot_note_place { PLOT_RIGHT_BELOW, PLOT_LEFT_ABOVE };
void plot_note(const struct plot *plot, struct plot_point point, enum plot_note_place place,
               enum colour colour, const char *text);

#endif
