/*
 * Studies as a web page to send to a colleague: one file that needs nothing else, no network and no
 * script (a small one makes the tables sortable), in the reader's light or dark colours, on a wide
 * screen or a narrow one. A study's section has the winner in a sentence, charts, what each
 * parameter does, occupancy, failures, and every variant.
 */
#ifndef AUTOTUNE_HTML_H
#define AUTOTUNE_HTML_H

#include "base/error.h"
#include "record/study.h"

#include <stddef.h>
#include <stdio.h>

/*
 * Prints the page. `record` are further studies to look for measured roofs in (report_roofs.h).
 * Without gnuplot (see plots_possible()) the page says so where its charts would be. Returns 0, or
 * ERROR_RECORD where gnuplot fails; failures of the stream are the caller's to look for.
 */
int html_print(FILE *stream, const struct study *studies, size_t count, const struct study *record,
               size_t record_count, struct error *error);

#endif
