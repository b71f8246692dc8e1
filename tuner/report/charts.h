/*
 * A chart of a study's page: a figure with its title, its caption and its plot, and what most
 * charts have in common: variants as points, with ties and the winner on top.
 *
 * Calling sequence:
 *     struct plot plot = chart_plot(charts, points, count, "x", "y");
 *     chart_begin(&plot, title, "caption …", …);
 *     chart_scatter(&plot, points, count);   (and other marks, plot.h)
 *     chart_end(&plot);
 */
#ifndef AUTOTUNE_CHARTS_H
#define AUTOTUNE_CHARTS_H

#include "record/study.h"
#include "report/analysis.h"
#include "report/plot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What the charts of one study are drawn from, and the page they go to. */
struct charts {
    FILE *stream;
    const struct study *study;
    const struct importance *importance;
    const struct roofs *roofs;
};

/* Begins a figure and its plot. The caption says what to see in it. */
void chart_begin(struct plot *plot, const char *title, const char *caption_format, ...)
    __attribute__((format(printf, 3, 4)));
void chart_end(const struct plot *plot);

/* How variants are marked, later ones on top of earlier ones. */
enum chart_mark { CHART_PLAIN, CHART_TIE, CHART_WINNER, CHART_MARK_COUNT };

/* A variant. */
struct chart_point {
    double x;
    double y;
    enum chart_mark mark;
};

/* The variants that `place` gives a place, which it calls of each result; a new array. */
struct chart_point *chart_points(const struct study *study,
                                 bool (*place)(const struct result *result, double *x, double *y),
                                 size_t *count);

/* The range of the points' x or y, and a plot whose axes show them all. */
struct plot_range chart_range(const struct chart_point *points, size_t count, bool of_x);
struct plot chart_plot(const struct charts *charts, const struct chart_point *points, size_t count,
                       const char *x_label, const char *y_label);

/* Draws the points: plain ones, then ties, then the winner. */
void chart_scatter(const struct plot *plot, const struct chart_point *points, size_t count);

/* To add a chart: a function in charts.c (time and parameters) or charts_gpu.c (the machine), and its call in
 * html_charts(), which prints every chart that the study has data for, after a legend; nothing if
 * there are fewer than two variants to compare. */
void html_charts(const struct charts *charts);

/* Charts of how a study's variants use the GPU, of charts_gpu.c. Each prints nothing if the study has no data for
 * it: rates under the limits of memory and arithmetic. */
void chart_roofline(const struct charts *charts);

/* Time against occupancy, and occupancy against registers. */
void chart_occupancy(const struct charts *charts);
void chart_registers(const struct charts *charts);

/* Latency against the size of the grid and of blocks, for kernels that move no bytes, such as
 * barriers. */
void chart_latency(const struct charts *charts);

#endif
