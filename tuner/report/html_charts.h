/*
 * The charts of a study's page.
 *
 * To add one: a function in html_charts.c (time and parameters) or html_charts_gpu.c (the machine),
 * and its call in html_charts().
 */
#ifndef AUTOTUNE_HTML_CHARTS_H
#define AUTOTUNE_HTML_CHARTS_H

#include "report/chart.h"

/* Prints every chart that the study has data for, after a legend; nothing if there are fewer than
 * two variants to compare. */
void html_charts(const struct charts *charts);

#endif
