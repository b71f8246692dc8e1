#include "report/cover_page.h"

#include "base/write_file.h"
#include "report/html.h"
#include "report/plot.h"
#include "report/report_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* In pixels. */
enum { CELL = 18, NAMES = 40, FOOT = 110 };

/* --- tables --- */

static void write_options(FILE *stream, const struct cover_page *page)
{
    fputs("<h2>How many configurations, how much loss</h2>\n<div class=\"scroll\"><table>\n"
          "<tr><th rowspan=\"2\">configurations</th><th colspan=\"2\">fastest of them, %</th>"
          "<th colspan=\"2\">expected elsewhere, %</th></tr>\n"
          "<tr><th>mean</th><th>worst</th><th>mean</th><th>worst</th></tr>\n",
          stream);
    for (size_t i = 0; i < page->option_count; i++) {
        const struct cover_page_option *option = &page->options[i];
        fprintf(stream,
                "<tr><td>%zu%s</td><td>%.2f</td><td>%.2f</td><td>%.2f</td><td>%.2f</td></tr>\n",
                option->configurations, i == page->shipped ? " (shipped)" : "", option->mean,
                option->worst, option->expected_mean, option->expected_worst);
    }
    fputs("</table></div>\n", stream);
}

static void write_configurations(FILE *stream, const struct cover_page *page)
{
    fputs("<h2>Configurations</h2>\n<p>For a problem, the one is chosen that is expected to be the "
          "fastest, by its times at the nearest measured sizes.</p>\n<ol>\n",
          stream);
    for (size_t number = 1; number <= page->options[page->shipped].configurations; number++)
        for (size_t i = 0; i < page->candidate_count; i++)
            if (page->numbers[i] == number) {
                fputs("<li><code>", stream);
                html_text(stream, page->candidates[i]);
                fputs("</code></li>\n", stream);
            }
    fputs("</ol>\n", stream);
}

/* --- the heat map --- */

/* The worst of eight colours from 20 % on. */
static enum colour colour_of(double percent)
{
    static const double steps[COLOUR_HEAT - 1] = {0.2, 1, 2, 4, 7, 12, 20};
    int colour = 0;
    while (colour < COLOUR_HEAT - 1 && !(percent < steps[colour]))
        colour++;
    return (enum colour)(COLOUR_heat0 + colour);
}

static void write_cell(FILE *stream, const struct cover_page *page, size_t row, size_t column,
                       bool chosen)
{
    double loss = page->losses[row * page->size_count + column];
    double x = NAMES + CELL * (double)column;
    double y = CELL * (double)row;
    svg_begin(stream, "rect", colour_of(loss), "");
    svg_attribute(stream, "x", x);
    svg_attribute(stream, "y", y);
    svg_attribute(stream, "width", CELL - 1);
    svg_attribute(stream, "height", CELL - 1);
    fputs("><title>", stream);
    html_text(stream, page->candidates[row]);
    fputs(", ", stream);
    html_text(stream, page->sizes[column]);
    if (isnan(loss))
        fputs(": failed", stream);
    else
        fprintf(stream, ": %.2f %%", loss);
    fprintf(stream, "%s</title></rect>\n", chosen ? ", chosen" : "");
    if (!chosen)
        return;
    svg_begin(stream, "circle", COLOUR_winner, "");
    svg_attribute(stream, "cx", x + (CELL - 1) / 2.0);
    svg_attribute(stream, "cy", y + (CELL - 1) / 2.0);
    svg_attribute(stream, "r", CELL / 4.0);
    fputs("/>\n", stream);
}

/* The number of a candidate that is shipped. */
static void write_row_name(FILE *stream, size_t number, size_t row)
{
    char text[24];
    if (number == 0)
        return;
    (void)snprintf(text, sizeof text, "%zu", number);
    fputs("<text class=\"end\"", stream);
    svg_attribute(stream, "x", NAMES - 6);
    svg_attribute(stream, "y", CELL * (double)row + CELL * 0.75);
    svg_text(stream, text);
}

static void write_column_name(FILE *stream, const struct cover_page *page, size_t column)
{
    double x = NAMES + CELL * ((double)column + 0.7);
    double y = CELL * (double)page->candidate_count + 8;
    fputs("<text class=\"end\"", stream);
    svg_attribute(stream, "x", x);
    svg_attribute(stream, "y", y);
    svg_rotate(stream, -60, x, y);
    svg_text(stream, page->sizes[column]);
}

static void write_map(FILE *stream, const struct cover_page *page)
{
    size_t width = NAMES + CELL * page->size_count + CELL;
    fprintf(
        stream,
        "<h2>Losses at the measured sizes</h2>\n"
        "<p>A row per candidate, a column per size: the darker, the less is lost. Dots are what "
        "is chosen, numbers the configurations that are shipped.</p>\n<div class=\"scroll\">"
        "<svg class=\"plot\" viewBox=\"0 0 %zu %zu\" style=\"width: %zupx\" role=\"img\" "
        "aria-label=\"Loss of each candidate at each size\">\n",
        width, CELL * page->candidate_count + FOOT, width);
    for (size_t row = 0; row < page->candidate_count; row++) {
        write_row_name(stream, page->numbers[row], row);
        for (size_t column = 0; column < page->size_count; column++)
            write_cell(stream, page, row, column, page->choices[column] == row);
    }
    for (size_t column = 0; column < page->size_count; column++)
        write_column_name(stream, page, column);
    fputs("</svg></div>\n", stream);
}

/* --- the picture --- */

enum { DOT = 6, STRIP = 36, HEAD = 20, END = 20, SQUARE = 12, KEY = 56 };

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
    return picture->rows > 1 ? DOT * (double)picture->rows : STRIP;
}

static enum colour colour_of_configuration(size_t configuration)
{
    return (enum colour)(COLOUR_series0 + (int)(configuration % COLOUR_SERIES));
}

static void write_rectangle(FILE *stream, size_t configuration, double x, double y, double width,
                            double height)
{
    svg_begin(stream, "rect", colour_of_configuration(configuration), "");
    svg_attribute(stream, "x", x);
    svg_attribute(stream, "y", y);
    svg_attribute(stream, "width", width);
    svg_attribute(stream, "height", height);
    fprintf(stream, "><title>configuration %zu</title></rect>\n", configuration + 1);
}

/* Neighbours in a row that are the same make one rectangle. The lowest row is at the bottom. */
static void write_picture_row(FILE *stream, const struct cover_picture *picture, size_t slice,
                              size_t row)
{
    const size_t *choices =
        picture->choices + (slice * picture->rows + row) * COVER_PICTURE_COLUMNS;
    double height = picture->rows > 1 ? DOT : STRIP;
    double y = HEAD + height_of(picture) - height * (double)(row + 1);
    for (size_t begin = 0, end; begin < COVER_PICTURE_COLUMNS; begin = end) {
        end = begin + 1;
        while (end < COVER_PICTURE_COLUMNS && choices[end] == choices[begin])
            end++;
        if (choices[begin] != COVER_PICTURE_OUTSIDE)
            write_rectangle(stream, choices[begin], DOT * (double)begin, y,
                            DOT * (double)(end - begin), height);
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
    double width = DOT * (double)COVER_PICTURE_COLUMNS;
    double bottom = HEAD + height_of(picture) + END - 6;
    fprintf(stream,
            "<svg class=\"plot\" shape-rendering=\"crispEdges\" viewBox=\"0 0 %.0f %.0f\" "
            "style=\"max-width: %.0fpx\" "
            "role=\"img\" aria-label=\"Which configuration is chosen\">\n",
            width, HEAD + height_of(picture) + END, width);
    for (size_t row = 0; row < picture->rows; row++)
        write_picture_row(stream, picture, slice, row);
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

static void write_picture(FILE *stream, const struct cover_picture *picture)
{
    fputs("<h2>What is chosen</h2>\n<p>Over the range, on a logarithmic scale", stream);
    if (picture->rows > 1)
        fprintf(stream, "; from the bottom, %s, to the top, %s", picture->row_low,
                picture->row_high);
    fputs(". The colours are those of the configurations:</p>\n", stream);
    write_key(stream, picture);
    for (size_t slice = 0; slice < picture->slices; slice++)
        write_slice(stream, picture, slice);
}

/* --- the page --- */

int cover_page_write(const char *path, const struct cover_page *page, struct error *error)
{
    struct write_file file;
    int status = write_file_begin(&file, path, error);
    if (status != 0)
        return status;
    FILE *stream = file.stream;
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
          stream);
    html_text(stream, page->title);
    fputs("</title>\n", stream);
    html_style(stream);
    fputs("</head>\n<body>\n<main>\n<h1>", stream);
    html_text(stream, page->title);
    fputs("</h1>\n<p>", stream);
    html_text(stream, page->range);
    fprintf(
        stream,
        ". Expected loss at sizes that were not measured: %.2f %% in the mean, %.2f %% at worst, "
        "from %zu sizes that were left out.</p>\n",
        page->options[page->shipped].expected_mean, page->options[page->shipped].expected_worst,
        page->size_count);
    write_map(stream, page);
    write_configurations(stream, page);
    write_picture(stream, page->picture);
    write_options(stream, page);
    fputs("</main>\n</body>\n</html>\n", stream);
    return write_file_finish(&file, 0, error);
}
