/*
 * Parts of the page, for html.c alone.
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

/* The style sheet and the script, with their elements. */
void html_style(FILE *stream);
void html_script(FILE *stream);

/* What the winner is, how fast and how sure, as a paragraph; in static mode that nothing was run.
 */
void html_winner(FILE *stream, const struct study *study, const struct roofs *roofs);

/* A line for each study: kernel and GPU where they differ, problem, winner, time, rate, share of the
 * roof. `roofs`: of each. */
void html_overview(FILE *stream, const struct study *studies, const struct roofs *roofs,
                   size_t count, bool same_kernel, bool same_gpu);

/* The roofs of the study's GPU and which of them are measured, as a paragraph; nothing in static
 * mode, or where none is known. */
void html_roofs(FILE *stream, const struct study *study, const struct roofs *roofs);

/* The winner's rate over the roof that limits it; 0 where there is none. */
double html_roof_share(const struct study *study, const struct roofs *roofs);

/* Tables with their headings; nothing where there is nothing to say. */
void html_importance(FILE *stream, const struct study *study, const struct importance *importance);
void html_headroom(FILE *stream, const struct study *study);
void html_failures(FILE *stream, const struct study *study);
void html_variants(FILE *stream, const struct study *study);

#endif
