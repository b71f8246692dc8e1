/*
 * The numbers of a device worker's reply about a variant. The coordinator of a cluster reads thousands of
 * replies a second, so a reply has its numbers as one text, "figures", which takes a fifth of the time
 * that lists take to read.
 */
#ifndef AUTOTUNE_FIGURES_H
#define AUTOTUNE_FIGURES_H

#include <jansson.h>
#include <stddef.h>

/* Zeroed has none. */
struct figures {
    double *numbers; /* what is not a number is NaN */
    size_t count;
    size_t capacity;
};

void figures_release(struct figures *figures);

/* `count` numbers as one text, separated by blanks; whole ones are exact up to 2^53. A new object. */
json_t *figures_text(const double *numbers, size_t count);

/* Replaces the lists "took_ns", "stats", "sampled" and "samples_ns" of an object, each of which may be
 * missing, by "figures": their numbers in this order, separated by blanks. */
void figures_fold(json_t *reply);

/* Reads the numbers of an object, which may have none, in place of those read before. */
void figures_read(struct figures *figures, const json_t *reply);

#endif
