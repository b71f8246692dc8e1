/*
 * SVG as gnuplot writes it, made fit for a page: its colours become those of the page's style
 * sheet, its size that of its place, and what only bloats it goes.
 */
#ifndef AUTOTUNE_PLOT_SVG_H
#define AUTOTUNE_PLOT_SVG_H

#include <stdio.h>

/*
 * X(name). In a script c_name; in the page var(--plot-name). gnuplot knows them as the colours
 * 0x010000, 0x010001 … in this order.
 */
#define PLOT_COLOURS(X)                                                                            \
    X(text)                                                                                        \
    X(muted)                                                                                       \
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

enum plot_colour {
#define X(name) PLOT_COLOUR_##name,
    PLOT_COLOURS(X)
#undef X
        PLOT_COLOUR_COUNT
};

enum { PLOT_COLOUR_BASE = 0x010000, PLOT_SERIES = 6, PLOT_HEAT = 8 };

/* Writes c_text = "#010000" and so on for a script. */
void plot_svg_write_colours(FILE *script);

/* Writes the rules of a style sheet that the plots need, besides the colours themselves. */
void plot_svg_write_style(FILE *stream);

/* The document, from `<svg` to before `</svg>`, as an element with `label` as its accessible name;
 * a new string. */
char *plot_svg_inline(const char *svg, const char *label);

#endif
