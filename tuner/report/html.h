/*
 * Studies as a web page to send to a colleague: one file that needs no network, no other file and
 * no scripts (a small one makes the tables sortable), in the reader's light or dark colours, for
 * wide and narrow screens. A study's section has the winner in a sentence, charts, the importance
 * of each parameter, occupancy, failures, and every variant.
 */
#ifndef AUTOTUNE_HTML_H
#define AUTOTUNE_HTML_H

#include "record/study.h"

#include <stddef.h>
#include <stdio.h>

/* Prints the page. Looks for measured roofs in `record`, too (report_roofs.h). The caller
 * checks the stream for errors. */
void html_print(FILE *stream, const struct study *studies, size_t count, const struct study *record,
                size_t record_count);

#endif
