/* Thresholds that people can read. */
#ifndef AUTOTUNE_THRESHOLD_H
#define AUTOTUNE_THRESHOLD_H

#include <stdbool.h>

/*
 * A round number that separates `low` from `high`, low < result <= high: a power of two if there is
 * one, the middle one of several; or else the number with the fewest digits that is nearest to the
 * middle. With `whole`, a whole number; low and high are then whole, too.
 */
double threshold_between(double low, double high, bool whole);

enum { THRESHOLD_TEXT_BYTES = 32 };

/* "2^20", "1536", "0.75". Returns `text`. */
char *threshold_text(double threshold, char text[THRESHOLD_TEXT_BYTES]);

#endif
