/*
 * The parts of a page, which html.c puts together; html_charts.h has the charts.
 */
#ifndef AUTOTUNE_HTML_PARTS_H
#define AUTOTUNE_HTML_PARTS_H

#include "record/study.h"
#include "report/parameter_importance.h"
#include "report/report_roofs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* "n = 16777216 (2^24), value_type = float"; nothing for an empty problem. */
void html_problem(FILE *stream, const struct bindings *problem);

/* The <style> and <script> elements. */
void html_style(FILE *stream);
void html_script(FILE *stream);

/* A paragraph that names the winner, its time and its ties, or says why there is none. */
void html_winner(FILE *stream, const struct study *study, const struct roofs *roofs);

/* A table with a row per study: kernel and GPU if they differ, problem, winner, time, rate and
 * share of the roof. `roofs` has those of each study. */
void html_overview(FILE *stream, const struct study *studies, const struct roofs *roofs,
                   size_t count, bool same_kernel, bool same_gpu);

/* A paragraph with the roofs of the study's GPU and whether they are measured; nothing in static
 * mode or if none is known. */
void html_roofs(FILE *stream, const struct study *study, const struct roofs *roofs);

/* The winner's rate divided by the roof that limits it; 0 if there is no winner or no roof. */
double html_roof_share(const struct study *study, const struct roofs *roofs);

/* Tables with their headings; nothing if the study has no data for them. */
void html_importance(FILE *stream, const struct study *study, const struct importance *importance);
void html_headroom(FILE *stream, const struct study *study);
void html_failures(FILE *stream, const struct study *study);
void html_variants(FILE *stream, const struct study *study);

#endif
