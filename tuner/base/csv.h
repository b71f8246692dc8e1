/* CSV output. */
#ifndef AUTOTUNE_CSV_H
#define AUTOTUNE_CSV_H

#include <stdio.h>

/* Prints a field, quoted if RFC 4180 requires it. Text that a spreadsheet would take for a formula
 * gets an apostrophe before it. Prints nothing if `text` is NULL. */
void csv_text(FILE *stream, const char *text);

#endif
