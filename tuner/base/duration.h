/*
 * Durations as people write them: "90s", "10m", "1.5h", or a number of seconds.
 */
#ifndef AUTOTUNE_DURATION_H
#define AUTOTUNE_DURATION_H

#include <stdbool.h>

enum { DURATION_BYTES = 32 };

/* Reads all of `text`. False unless it is a number above 0, with s, m or h or without a unit, and no
 * longer than a year. */
bool duration_parse(const char *text, double *seconds);

/* The duration in two or three digits and the largest unit that fits: "40 s", "6.5 minutes". Returns
 * `buffer`. */
char *duration_text(double seconds, char buffer[DURATION_BYTES]);

#endif
