/* What trying every variant will cost, once it is known what one costs. */
#ifndef AUTOTUNE_FORECAST_H
#define AUTOTUNE_FORECAST_H

#include <stdbool.h>
#include <stddef.h>

enum { FORECAST_BYTES = 256 };

/*
 * After `done` variants in `elapsed_s` seconds, with `left` to go: true, with a message, if enough
 * is known to say how long it will take, and that is long enough to be worth saying. If it takes
 * hours and a run `can_search`, the message names the options that make it search.
 */
bool forecast(double elapsed_s, size_t done, size_t left, bool can_search,
              char text[FORECAST_BYTES]);

#endif
