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

/* The <style> element. */
void html_style(FILE *stream);

/* The parts that html_tables.c prints: tables with their headings; nothing if the study has no data for them. */
void html_importance(FILE *stream, const struct study *study, const struct importance *importance);
void html_headroom(FILE *stream, const struct study *study);
void html_failures(FILE *stream, const struct study *study);
void html_variants(FILE *stream, const struct study *study);

#endif
