/*
 * Plots as inline SVG in an HTML page, written to the page as they are drawn; they give the same in every locale.
 *
 * Calling sequence:
 *     struct plot_range range = PLOT_RANGE_EMPTY;
 *     plot_range_add(&range, number);   (for each number)
 *     struct plot plot = {.stream = stream, .x = plot_axis_of(range), .y = plot_axis_of(…)};
 *     plot.x.label = …
 *     plot_begin(&plot, "Time against block_size");
 *     plot_line(&plot, …), plot_dots(&plot, …), …   (later ones on top)
 *     plot_end(&plot);
 *
 * A plot scales to the width of its container; its text is legible from 300 to 700 pixels.
 */
#ifndef AUTOTUNE_PLOT_H
#define AUTOTUNE_PLOT_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What the numbers of an axis span; low > high if there are none. */
struct plot_range {
    double low;
    double high;
};

#define PLOT_RANGE_EMPTY                                                                           \
    {                                                                                              \
        .low = INFINITY, .high = -INFINITY                                                         \
    }

/* Widens the range to `number`. NaN, infinities and numbers beyond 1e30 are ignored, and those
 * below 1e-30 count as 0. */
void plot_range_add(struct plot_range *range, double number);

enum plot_scale { PLOT_LINEAR, PLOT_LOG10, PLOT_LOG2, PLOT_WORDS };

struct plot_axis {
    const char *label;
    enum plot_scale scale;
    double low;
    double high;
    bool whole;         /* ticks of PLOT_LINEAR are whole numbers */
    char *const *words; /* of PLOT_WORDS: the texts at 0, 1, 2, …; borrowed */
    size_t word_count;
};

/*
 * An axis over `range` with a margin at both ends: logarithmic if all numbers are positive and span
 * a factor of 4 or more, otherwise linear. An empty range counts as 0 to 1.
 */
struct plot_axis plot_axis_of(struct plot_range range);

/* A logarithmic axis over `range`, which must be positive, with ticks of base 10 or 2 as `scale`
 * says. */
struct plot_axis plot_axis_log(struct plot_range range, enum plot_scale scale);

/* An axis with `words`, evenly spaced; they stay the caller's. */
struct plot_axis plot_axis_words(char *const *words, size_t count);

/* Where `number` lies: 0 at the low end of the axis, 1 at its high end; NaN if it has no place, or
 * one far outside. */
double plot_axis_place(const struct plot_axis *axis, double number);

enum { PLOT_MAX_TICKS = 9, PLOT_TICK_BYTES = 48 };

struct plot_tick {
    double at;
    char text[PLOT_TICK_BYTES]; /* "0.25", "2000", "10⁶", "2²⁰" */
};

/* The space for the texts of ticks, in any unit. */
struct plot_room {
    double length; /* of the axis */
    double text;   /* taken by any text, with the gap to the next one */
    double letter; /* taken by each of its letters in addition; 0 if texts are stacked */
};

/*
 * As many ticks as fit, at round numbers: multiples of 1, 2 or 5 times a power of ten; powers
 * of the base on a logarithmic axis, and some between them if they are few. Returns how many; 0 for
 * an axis of words or one without a length.
 */
size_t plot_axis_ticks(const struct plot_axis *axis, struct plot_room room,
                       struct plot_tick ticks[PLOT_MAX_TICKS]);

/* `number` with four significant digits, or as a whole number from 1000 on; returns `text`. */
char *plot_number_text(double number, char text[PLOT_TICK_BYTES]);

/* The letters of `text`, which is UTF-8, and the bytes of its first `letters`. */
size_t plot_letters(const char *text);
size_t plot_letters_bytes(const char *text, size_t letters);

/*
 * Elements of inline SVG in an HTML page: their attributes, numbers and colours.
 *
 * An element's colour is a class, which stands for a variable of the page's style sheet, light or
 * dark: `p-dot` and `--dot` for COLOUR_dot. Whether it fills or strokes depends on the element.
 */

/* X(name). The series colours are for lines, the heat colours for cells, from best to worst. */
#define SVG_COLOURS(X)                                                                             \
    X(axis)                                                                                        \
    X(grid)                                                                                        \
    X(dot)                                                                                         \
    X(accent)                                                                                      \
    X(winner)                                                                                      \
    X(tie)                                                                                         \
    X(limit)                                                                                       \
    X(series0)                                                                                     \
    X(series1)                                                                                     \
    X(series2)                                                                                     \
    X(series3)                                                                                     \
    X(series4)                                                                                     \
    X(series5)                                                                                     \
    X(heat0)                                                                                       \
    X(heat1)                                                                                       \
    X(heat2)                                                                                       \
    X(heat3)                                                                                       \
    X(heat4)                                                                                       \
    X(heat5)                                                                                       \
    X(heat6)                                                                                       \
    X(heat7)                                                                                       \
    X(heattext)                                                                                    \
    X(heattextbest)

enum colour {
#define X(name) COLOUR_##name,
    SVG_COLOURS(X)
#undef X
        COLOUR_COUNT
};

enum { COLOUR_SERIES = 6, COLOUR_HEAT = 8 };

/* The rules of the page's style sheet for the classes of colours. */
void svg_write_colours(FILE *stream);

/* Begins an element of a colour and, unless it is "", of a further class; its attributes follow. */
void svg_begin(FILE *stream, const char *element, enum colour colour, const char *class);

void svg_attribute(FILE *stream, const char *name, double number);

/* The attribute that turns an element about a point, clockwise. */
void svg_rotate(FILE *stream, int degrees, double x, double y);

/* Ends the attributes of a <text> element, and writes its text and its end tag. */
void svg_text(FILE *stream, const char *text);

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

/*
 * What is drawn in a plot. Coordinates are those of the axes; the words of an axis are at 0, 1, 2 and
 * so on. Numbers with no place on an axis (NaN, or zero on a logarithmic one) are not drawn.
 */

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
