/*
 * A picture of a cover's rule: which configuration it chooses over the range. One problem value
 * makes a strip, two make a map, and three make several maps, each for one value of the third.
 */
#ifndef AUTOTUNE_COVER_PICTURE_H
#define AUTOTUNE_COVER_PICTURE_H

#include <stddef.h>
#include <stdio.h>

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

void cover_picture_write(FILE *stream, const struct cover_picture *picture);

#endif
