/* The parts of a page that html_tables.c and the pages of covers share with html.c. */
#ifndef AUTOTUNE_HTML_H
#define AUTOTUNE_HTML_H

#include "record/study.h"
#include "report/analysis.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The <style> element. */
void html_style(FILE *stream);

/* The parts that html_tables.c prints: tables with their headings; nothing if the study has no data for them. */
void html_importance(FILE *stream, const struct study *study, const struct importance *importance);
void html_headroom(FILE *stream, const struct study *study);
void html_failures(FILE *stream, const struct study *study);
void html_variants(FILE *stream, const struct study *study);

#endif
