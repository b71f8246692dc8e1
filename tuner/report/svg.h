/*
 * Elements of inline SVG in an HTML page: their attributes, numbers and colours.
 *
 * An element's colour is a class, which stands for a variable of the page's style sheet, light or
 * dark: `p-dot` and `--dot` for COLOUR_dot. Whether it fills or strokes depends on the element.
 */
#ifndef AUTOTUNE_SVG_H
#define AUTOTUNE_SVG_H

#include <stdio.h>

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

/* The rules that the page's style sheet needs, besides the colours themselves. */
void svg_write_style(FILE *stream);

/* Begins an element of a colour and, unless it is "", of a further class; its attributes follow. */
void svg_begin(FILE *stream, const char *element, enum colour colour, const char *class);

/* A number in pixels with at most one decimal, the same in every locale. */
void svg_number(FILE *stream, double number);

void svg_attribute(FILE *stream, const char *name, double number);

/* The attribute that turns an element about a point, clockwise. */
void svg_rotate(FILE *stream, int degrees, double x, double y);

/* A step of a path, "M12.5 40". */
void svg_step(FILE *stream, char command, double x, double y);

/* Ends the attributes of a <text> element, and writes its text and its end tag. */
void svg_text(FILE *stream, const char *text);

#endif
