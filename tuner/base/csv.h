/*
 * Fields of CSV files.
 */
#ifndef AUTOTUNE_CSV_H
#define AUTOTUNE_CSV_H

#include <stdio.h>

/* Prints a field, quoted where RFC 4180 asks for it; nothing for NULL. */
void csv_text(FILE *stream, const char *text);

#endif
