/*
 * The charts of a study's page: which there are, what each says in words, and their scripts.
 *
 * To add one: a function in html_charts.c (time and parameters) or html_charts_gpu.c (the machine),
 * and a line in charts_add().
 */
#ifndef AUTOTUNE_HTML_CHARTS_H
#define AUTOTUNE_HTML_CHARTS_H

#include "record/study.h"
#include "report/parameter_importance.h"
#include "report/plot.h"
#include "report/report_roofs.h"

#include <stddef.h>
#include <stdio.h>

struct chart {
    char *title;
    char *caption; /* what to see in it */
    size_t plot;   /* index into the plots */
};

/* The charts of one study. */
struct charts {
    const struct study *study;
    const struct importance *importance;
    const struct roofs *roofs;
    struct plots *plots; /* shared by all studies of a page */
    struct chart *items;
    size_t count;
};

/* Adds every chart that the study has something to show in. */
void charts_add(struct charts *charts);
void charts_release(struct charts *charts);

/* -- for the charts themselves ------------------------------------------------------------------
 */

/* Begins a chart; its script follows on the stream returned. */
FILE *chart_begin(struct charts *charts, const char *title);
void chart_caption(struct charts *charts, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* How variants are marked, later ones on top of earlier ones. */
enum mark { MARK_PLAIN, MARK_TIE, MARK_WINNER, MARK_COUNT };

struct point {
    double x;
    double y;
    enum mark mark;
};

enum mark chart_mark(const struct study *study, size_t index);

/* What is compared as it is shown: microseconds, or per cent of occupancy. */
double chart_number(const struct importance *importance, const struct result *result);
const char *chart_number_label(const struct importance *importance);

/* Least and greatest y. */
void chart_bounds(const struct point *points, size_t count, double *low, double *high);

/*
 * Writes the points and the command that plots them: `under` (clauses, each ended by ", ", or "")
 * first, then plain points, ties, the winner.
 */
void chart_scatter(FILE *script, const char *under, const struct point *points, size_t count);

void chart_roofline(struct charts *charts);
void chart_occupancy(struct charts *charts);
void chart_registers(struct charts *charts);
void chart_launch(struct charts *charts);

#endif
