/*
 * A page about a cover: the loss for each number of configurations, a heat map of what each candidate loses at
 * each size, and a picture of which configuration is chosen over the range: one problem value makes a
 * strip, two make a map, and three make several maps, each for one value of the third.
 */
#ifndef AUTOTUNE_COVER_PAGE_H
#define AUTOTUNE_COVER_PAGE_H

#include "base/error.h"

#include <stddef.h>

enum { COVER_PICTURE_COLUMNS = 96, COVER_PICTURE_ROWS = 48, COVER_PICTURE_SLICES = 3 };

#define COVER_PICTURE_OUTSIDE ((size_t)-1)

/* An end of an axis, or the value of a slice, as text: "n = 64". */
struct cover_picture {
    size_t configurations;
    size_t rows, slices; /* 1, or as above */
    /* [(slice * rows + row) * COVER_PICTURE_COLUMNS + column]: a configuration, or that the place is
     * outside the range. Evenly spaced on a logarithmic scale, from the low ends on. */
    size_t *choices;
    char *column_low, *column_high, *row_low, *row_high; /* rows: NULL for a strip */
    char *slice_names[COVER_PICTURE_SLICES];             /* NULL: there is only one */
};

void cover_picture_release(struct cover_picture *picture);

/* What at most a number of configurations loses, in percent: the fastest of them at each size, and what is
 * expected at sizes that were not measured. */
struct cover_page_option {
    size_t configurations;
    double mean, worst, expected_mean, expected_worst;
};

/* Everything is borrowed. */
struct cover_page {
    const char *title; /* "reduce_sum on NVIDIA H200" */
    const char *range; /* "n = 65536 .. 1073741824" */
    const struct cover_page_option *options;
    size_t option_count, shipped; /* the index of the one that is shipped */
    char *const *candidates;      /* their parameters */
    const size_t *numbers;        /* of each: which of the shipped ones it is, from 1; 0: none */
    size_t candidate_count;
    char *const *sizes; /* their values, "512 x 64" */
    size_t size_count;
    const double *losses;  /* in percent, [candidate * sizes + size]; NAN: failed */
    const size_t *choices; /* of each size: the candidate */
    const struct cover_picture *picture;
};

/* Writes the page. Returns 0 or ERROR_RECORD. */
int cover_page_write(const char *path, const struct cover_page *page, struct error *error);

#endif
