/*
 * Plots as inline SVG in an HTML page, written to the page as they are drawn.
 *
 * Calling sequence:
 *     struct plot plot = {.stream = stream, .x = plot_axis_of(…), .y = plot_axis_of(…)};
 *     plot.x.label = …
 *     plot_begin(&plot, "Time against block_size");
 *     plot_line(&plot, …), plot_dots(&plot, …), …   (plot_marks.h; later ones on top)
 *     plot_end(&plot);
 *
 * A plot scales to the width of its container; its text is legible from 300 to 700 pixels.
 */
#ifndef AUTOTUNE_PLOT_H
#define AUTOTUNE_PLOT_H

#include "report/plot_axis.h"
#include "report/svg.h"

#include <stddef.h>
#include <stdio.h>

enum { PLOT_WIDTH = 420, PLOT_HEIGHT = 290 }; /* without keys and rotated words, which add to it */

/* Sizes in pixels. */
#define PLOT_LINE 18.0       /* the height of a line of text */
#define PLOT_LETTER 9.0      /* the width of most letters in most fonts */
#define PLOT_HALF_LETTER 5.0 /* from the middle of a text to its baseline */
#define PLOT_GAP 8.0         /* between a text and what stands beside it */

enum plot_line_kind { PLOT_STRAIGHT, PLOT_DASHED, PLOT_STEPS };

struct plot_line_style {
    enum plot_line_kind kind;
    enum colour colour;
    double width;
    double radius; /* of a dot at each point; 0: none */
};

/* A line named above the plot. */
struct plot_key {
    const char *text; /* borrowed */
    struct plot_line_style style;
};

struct plot {
    FILE *stream;
    struct plot_axis x;
    struct plot_axis y;
    const struct plot_key *keys; /* borrowed */
    size_t key_count;
    double left, top, right, bottom; /* of the axes, in pixels; plot_begin() sets them */
    double height;                   /* of all, likewise */
};

/* Begins the <svg> with its axes and keys. `label` describes it to readers who cannot see it. */
void plot_begin(struct plot *plot, const char *label);
void plot_end(const struct plot *plot);

/* Where a number of an axis lies, in pixels; NaN if it has no place. */
double plot_x(const struct plot *plot, double x);
double plot_y(const struct plot *plot, double y);

/* The width that a text may take, in pixels. */
double plot_text_width(const char *text);

/* Writes the attributes of a line. */
void plot_write_line_style(const struct plot *plot, const struct plot_line_style *style);

#endif
