#include "report/cover_picture.h"

#include "report/plot.h"

#include <stdlib.h>

/* In pixels. */
enum { CELL = 6, STRIP = 36, HEAD = 20, FOOT = 20, SQUARE = 12, KEY = 56 };

void cover_picture_release(struct cover_picture *picture)
{
    free(picture->choices);
    free(picture->column_low);
    free(picture->column_high);
    free(picture->row_low);
    free(picture->row_high);
    for (size_t i = 0; i < COVER_PICTURE_SLICES; i++)
        free(picture->slice_names[i]);
    *picture = (struct cover_picture){0};
}

static double height_of(const struct cover_picture *picture)
{
    return picture->rows > 1 ? CELL * (double)picture->rows : STRIP;
}

static enum colour colour_of(size_t configuration)
{
    return (enum colour)(COLOUR_series0 + (int)(configuration % COLOUR_SERIES));
}

static void write_rectangle(FILE *stream, size_t configuration, double x, double y, double width,
                            double height)
{
    svg_begin(stream, "rect", colour_of(configuration), "");
    svg_attribute(stream, "x", x);
    svg_attribute(stream, "y", y);
    svg_attribute(stream, "width", width);
    svg_attribute(stream, "height", height);
    fprintf(stream, "><title>configuration %zu</title></rect>\n", configuration + 1);
}

/* Neighbours in a row that are the same make one rectangle. The lowest row is at the bottom. */
static void write_row(FILE *stream, const struct cover_picture *picture, size_t slice, size_t row)
{
    const size_t *choices =
        picture->choices + (slice * picture->rows + row) * COVER_PICTURE_COLUMNS;
    double height = picture->rows > 1 ? CELL : STRIP;
    double y = HEAD + height_of(picture) - height * (double)(row + 1);
    for (size_t begin = 0, end; begin < COVER_PICTURE_COLUMNS; begin = end) {
        end = begin + 1;
        while (end < COVER_PICTURE_COLUMNS && choices[end] == choices[begin])
            end++;
        if (choices[begin] != COVER_PICTURE_OUTSIDE)
            write_rectangle(stream, choices[begin], CELL * (double)begin, y,
                            CELL * (double)(end - begin), height);
    }
}

static void write_text(FILE *stream, const char *text, const char *anchor, double x, double y)
{
    if (text == NULL)
        return;
    fprintf(stream, "<text class=\"%s\"", anchor);
    svg_attribute(stream, "x", x);
    svg_attribute(stream, "y", y);
    svg_text(stream, text);
}

static void write_slice(FILE *stream, const struct cover_picture *picture, size_t slice)
{
    double width = CELL * (double)COVER_PICTURE_COLUMNS;
    double bottom = HEAD + height_of(picture) + FOOT - 6;
    fprintf(stream,
            "<svg class=\"plot\" shape-rendering=\"crispEdges\" viewBox=\"0 0 %.0f %.0f\" "
            "style=\"max-width: %.0fpx\" "
            "role=\"img\" aria-label=\"Which configuration the rule chooses\">\n",
            width, HEAD + height_of(picture) + FOOT, width);
    for (size_t row = 0; row < picture->rows; row++)
        write_row(stream, picture, slice, row);
    write_text(stream, picture->row_high, "start", 0, HEAD - 6);
    write_text(stream, picture->slice_names[slice], "end", width, HEAD - 6);
    write_text(stream, picture->column_low, "start", 0, bottom);
    write_text(stream, picture->column_high, "end", width, bottom);
    fputs("</svg>\n", stream);
}

/* Which colour is which configuration. */
static void write_key(FILE *stream, const struct cover_picture *picture)
{
    double width = KEY * (double)picture->configurations;
    fprintf(stream,
            "<svg class=\"plot\" viewBox=\"0 0 %.0f %d\" style=\"max-width: %.0fpx\" role=\"img\" "
            "aria-label=\"Colours of the configurations\">\n",
            width, HEAD, width);
    for (size_t i = 0; i < picture->configurations; i++) {
        char text[24];
        (void)snprintf(text, sizeof text, "%zu", i + 1);
        write_rectangle(stream, i, KEY * (double)i, 3, SQUARE, SQUARE);
        write_text(stream, text, "start", KEY * (double)i + SQUARE + 6, SQUARE + 1);
    }
    fputs("</svg>\n", stream);
}

void cover_picture_write(FILE *stream, const struct cover_picture *picture)
{
    fputs("<h2>What the rule chooses</h2>\n<p>Over the range, on a logarithmic scale", stream);
    if (picture->rows > 1)
        fprintf(stream, "; from the bottom, %s, to the top, %s", picture->row_low,
                picture->row_high);
    fputs(". The colours are those of the configurations:</p>\n", stream);
    write_key(stream, picture);
    for (size_t slice = 0; slice < picture->slices; slice++)
        write_slice(stream, picture, slice);
}
