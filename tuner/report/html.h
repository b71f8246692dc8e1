/*
 * Studies as a web page to send to a colleague: one file that needs no network, no other file and
 * no scripts (a small one makes the tables sortable), in the reader's light or dark colours, for
 * wide and narrow screens. A study's section has the winner in a sentence, charts, the importance
 * of each parameter, occupancy, failures, and every variant.
 */
#ifndef AUTOTUNE_HTML_H
#define AUTOTUNE_HTML_H

#include "record/study.h"
#include "report/analysis.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Prints the page. Looks for measured roofs in `record`, too (analysis.h). The caller
 * checks the stream for errors. */
void html_print(FILE *stream, const struct study *studies, size_t count, const struct study *record,
                size_t record_count);

/* --- the parts of a page, of html.c and html_tables.c; charts.h has the charts --- */

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
