#include "command/cover_print.h"

#include "base/alloc.h"
#include "base/cover.h"
#include "base/write_file.h"
#include "report/plot.h"
#include "report/report_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* In pixels. */
enum { CELL = 18, NAMES = 40, FOOT = 110 };

/* --- tables --- */

static void write_options(FILE *stream, const struct selection *selection)
{
    fputs("<h2>How many configurations, how much loss</h2>\n<div class=\"scroll\"><table>\n"
          "<tr><th rowspan=\"2\">configurations</th><th colspan=\"2\">fastest of them, %</th>"
          "<th colspan=\"2\">expected elsewhere, %</th></tr>\n"
          "<tr><th>mean</th><th>worst</th><th>mean</th><th>worst</th></tr>\n",
          stream);
    for (size_t i = 0; i < selection->count; i++) {
        const struct selection_option *option = &selection->options[i];
        fprintf(stream,
                "<tr><td>%zu%s</td><td>%.2f</td><td>%.2f</td><td>%.2f</td><td>%.2f</td></tr>\n",
                option->count, i == selection->best ? " (shipped)" : "",
                loss_percent(option->least.mean), loss_percent(option->least.worst),
                loss_percent(option->expected.mean), loss_percent(option->expected.worst));
    }
    fputs("</table></div>\n", stream);
}

static void write_parameters(FILE *stream, const struct cover_session *session, size_t nominee)
{
    char *text = bindings_text(&session->nominees.items[nominee]);
    html_text(stream, text);
    free(text);
}

static void write_configurations(FILE *stream, const struct cover_session *session)
{
    const struct selection_option *option = cover_print_option(session);
    fputs("<h2>Configurations</h2>\n<p>For a problem, the one is chosen that is expected to be the "
          "fastest, by its times at the nearest measured sizes.</p>\n<ol>\n",
          stream);
    for (size_t i = 0; i < option->count; i++) {
        fputs("<li><code>", stream);
        write_parameters(stream, session, option->chosen[i]);
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

/* "512 x 64"; a new string. */
static char *size_text(const struct cover_session *session, size_t size)
{
    char *text = NULL;
    for (size_t i = 0; i < session->sizes.axes; i++)
        alloc_append(&text, "%s%" PRId64, i > 0 ? " x " : "", sizes_at(&session->sizes, size)[i]);
    return text;
}

static void write_cell(FILE *stream, const struct cover_session *session, size_t row, size_t column,
                       bool chosen)
{
    double lost = losses_of(&session->losses, row, column);
    double loss = lost < LOSS_FAILED ? loss_percent(lost) : NAN;
    double x = NAMES + CELL * (double)column;
    double y = CELL * (double)row;
    char *size = size_text(session, column);
    svg_begin(stream, "rect", colour_of(loss), "");
    svg_attribute(stream, "x", x);
    svg_attribute(stream, "y", y);
    svg_attribute(stream, "width", CELL - 1);
    svg_attribute(stream, "height", CELL - 1);
    fputs("><title>", stream);
    write_parameters(stream, session, row);
    fprintf(stream, ", %s", size);
    if (isnan(loss))
        fputs(": failed", stream);
    else
        fprintf(stream, ": %.2f %%", loss);
    fprintf(stream, "%s</title></rect>\n", chosen ? ", chosen" : "");
    free(size);
    if (!chosen)
        return;
    svg_begin(stream, "circle", COLOUR_winner, "");
    svg_attribute(stream, "cx", x + (CELL - 1) / 2.0);
    svg_attribute(stream, "cy", y + (CELL - 1) / 2.0);
    svg_attribute(stream, "r", CELL / 4.0);
    fputs("/>\n", stream);
}

/* The number of a nominee that is shipped. */
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

static void write_column_name(FILE *stream, const struct cover_session *session, size_t column)
{
    double x = NAMES + CELL * ((double)column + 0.7);
    double y = CELL * (double)session->nominees.count + 8;
    char *size = size_text(session, column);
    fputs("<text class=\"end\"", stream);
    svg_attribute(stream, "x", x);
    svg_attribute(stream, "y", y);
    svg_rotate(stream, -60, x, y);
    svg_text(stream, size);
    free(size);
}

static void write_map(FILE *stream, const struct cover_session *session)
{
    const struct selection_option *option = cover_print_option(session);
    size_t width = NAMES + CELL * session->sizes.count + CELL;
    fprintf(
        stream,
        "<h2>Losses at the measured sizes</h2>\n"
        "<p>A row per candidate, a column per size: the darker, the less is lost. Dots are what "
        "is chosen, numbers the configurations that are shipped.</p>\n<div class=\"scroll\">"
        "<svg class=\"plot\" viewBox=\"0 0 %zu %zu\" style=\"width: %zupx\" role=\"img\" "
        "aria-label=\"Loss of each candidate at each size\">\n",
        width, CELL * session->nominees.count + FOOT, width);
    for (size_t row = 0; row < session->nominees.count; row++) {
        for (size_t i = 0; i < option->count; i++)
            if (option->chosen[i] == row)
                write_row_name(stream, i + 1, row);
        for (size_t column = 0; column < session->sizes.count; column++)
            write_cell(stream, session, row, column,
                       option->chosen[selection_fastest(option, &session->losses, column)] == row);
    }
    for (size_t column = 0; column < session->sizes.count; column++)
        write_column_name(stream, session, column);
    fputs("</svg></div>\n", stream);
}

/* --- what is chosen over the range, on a logarithmic scale: one problem value makes a strip, two make a map,
 * and three several maps, each for one value of the third. Further ones have the middle of their ranges --- */

enum {
    COLUMNS = 96,
    ROWS = 48,
    SLICES = 3,
    DOT = 6,
    STRIP = 36,
    HEAD = 20,
    END = 20,
    SQUARE = 12,
    KEY = 56
};

struct picture {
    const struct cover_session *session;
    const struct tuned_entry *entry;
    size_t rows, slices; /* 1, or as above */
};

static const struct cover_axis *axis_of(const struct picture *picture, size_t axis)
{
    return &picture->session->range.kernel->cover.axes[axis];
}

/* The whole number at place `index` of `count`, from the low end of the axis to the high one. */
static double value_at(const struct cover_axis *axis, size_t index, size_t count)
{
    double share = count > 1 ? (double)index / (double)(count - 1) : 0.5;
    return round((double)axis->low * pow((double)axis->high / (double)axis->low, share));
}

/* The configuration at a place, counted from 1; 0 outside the range. */
static size_t choice_at(const struct picture *picture, size_t column, size_t row, size_t slice)
{
    const size_t axes = picture->session->sizes.axes;
    const size_t places[] = {column, row, slice};
    const size_t counts[] = {COLUMNS, picture->rows, picture->slices};
    struct value problem[COVER_VALUES];
    struct cover_choice choice;
    problem[axes] = value_integer(picture->entry->sm_count);
    for (size_t i = 0; i < axes; i++)
        problem[i] = value_integer(
            (int64_t)value_at(axis_of(picture, i), i < 3 ? places[i] : 0, i < 3 ? counts[i] : 1));
    return cover_has(picture->entry->cover, problem) &&
                   cover_choose(picture->entry->cover, problem, &choice)
               ? choice.configuration + 1
               : 0;
}

static double height_of(const struct picture *picture)
{
    return picture->rows > 1 ? DOT * (double)picture->rows : STRIP;
}

static void write_rectangle(FILE *stream, size_t number, double x, double y, double width,
                            double height)
{
    svg_begin(stream, "rect", (enum colour)(COLOUR_series0 + (int)((number - 1) % COLOUR_SERIES)),
              "");
    svg_attribute(stream, "x", x);
    svg_attribute(stream, "y", y);
    svg_attribute(stream, "width", width);
    svg_attribute(stream, "height", height);
    fprintf(stream, "><title>configuration %zu</title></rect>\n", number);
}

/* Neighbours in a row that are the same make one rectangle. The lowest row is at the bottom. */
static void write_picture_row(FILE *stream, const struct picture *picture, size_t slice, size_t row)
{
    double height = picture->rows > 1 ? DOT : STRIP;
    double y = HEAD + height_of(picture) - height * (double)(row + 1);
    size_t number = choice_at(picture, 0, row, slice);
    for (size_t begin = 0, end; begin < COLUMNS; begin = end) {
        size_t next = 0;
        end = begin;
        do
            next = ++end < COLUMNS ? choice_at(picture, end, row, slice) : 0;
        while (end < COLUMNS && next == number);
        if (number > 0)
            write_rectangle(stream, number, DOT * (double)begin, y, DOT * (double)(end - begin),
                            height);
        number = next;
    }
}

/* "n = 64". */
static void write_text(FILE *stream, const char *name, int64_t value, const char *anchor, double x,
                       double y)
{
    char *text = alloc_format("%s = %" PRId64, name, value);
    fprintf(stream, "<text class=\"%s\"", anchor);
    svg_attribute(stream, "x", x);
    svg_attribute(stream, "y", y);
    svg_text(stream, text);
    free(text);
}

static void write_slice(FILE *stream, const struct picture *picture, size_t slice)
{
    const struct cover_axis *across = axis_of(picture, 0);
    const struct cover_axis *up = axis_of(picture, 1);
    const struct cover_axis *third = axis_of(picture, 2);
    double width = DOT * (double)COLUMNS;
    double bottom = HEAD + height_of(picture) + END - 6;
    fprintf(stream,
            "<svg class=\"plot\" shape-rendering=\"crispEdges\" viewBox=\"0 0 %.0f %.0f\" "
            "style=\"max-width: %.0fpx\" "
            "role=\"img\" aria-label=\"Which configuration is chosen\">\n",
            width, HEAD + height_of(picture) + END, width);
    for (size_t row = 0; row < picture->rows; row++)
        write_picture_row(stream, picture, slice, row);
    if (picture->rows > 1)
        write_text(stream, up->name, up->high, "start", 0, HEAD - 6);
    if (picture->slices > 1)
        write_text(stream, third->name, (int64_t)value_at(third, slice, picture->slices), "end",
                   width, HEAD - 6);
    write_text(stream, across->name, across->low, "start", 0, bottom);
    write_text(stream, across->name, across->high, "end", width, bottom);
    fputs("</svg>\n", stream);
}

/* Which colour is which configuration. */
static void write_key(FILE *stream, size_t configurations)
{
    double width = KEY * (double)configurations;
    fprintf(stream,
            "<svg class=\"plot\" viewBox=\"0 0 %.0f %d\" style=\"max-width: %.0fpx\" role=\"img\" "
            "aria-label=\"Colours of the configurations\">\n",
            width, HEAD, width);
    for (size_t i = 0; i < configurations; i++) {
        char text[24];
        (void)snprintf(text, sizeof text, "%zu", i + 1);
        write_rectangle(stream, i + 1, KEY * (double)i, 3, SQUARE, SQUARE);
        fputs("<text class=\"start\"", stream);
        svg_attribute(stream, "x", KEY * (double)i + SQUARE + 6);
        svg_attribute(stream, "y", SQUARE + 1);
        svg_text(stream, text);
    }
    fputs("</svg>\n", stream);
}

static void write_picture(FILE *stream, const struct cover_session *session,
                          const struct tuned_entry *entry)
{
    const struct picture picture = {.session = session,
                                    .entry = entry,
                                    .rows = session->sizes.axes > 1 ? ROWS : 1,
                                    .slices = session->sizes.axes > 2 ? SLICES : 1};
    const struct cover_axis *up = axis_of(&picture, 1);
    fputs("<h2>What is chosen</h2>\n<p>Over the range, on a logarithmic scale", stream);
    if (picture.rows > 1)
        fprintf(stream, "; from the bottom, %s = %" PRId64 ", to the top, %s = %" PRId64, up->name,
                up->low, up->name, up->high);
    fputs(". The colours are those of the configurations:</p>\n", stream);
    write_key(stream, entry->cover->public.count);
    for (size_t slice = 0; slice < picture.slices; slice++)
        write_slice(stream, &picture, slice);
}

/* --- the page --- */

int cover_print_page(const struct cover_session *session, const struct tuned_entry *entry,
                     const char *path, struct error *error)
{
    const struct loss expected = cover_print_option(session)->expected;
    const char *gpu = cover_session_study(session)->environment.gpu.name;
    struct write_file file;
    int status = write_file_begin(&file, path, error);
    if (status != 0)
        return status;
    FILE *stream = file.stream;
    char *title = alloc_format("%s on %s", session->kernel, gpu);
    char *range = cover_print_range(session);
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
          stream);
    html_text(stream, title);
    fputs("</title>\n", stream);
    html_style(stream);
    fputs("</head>\n<body>\n<main>\n<h1>", stream);
    html_text(stream, title);
    fputs("</h1>\n<p>", stream);
    html_text(stream, range);
    fprintf(
        stream,
        ". Expected loss at sizes that were not measured: %.2f %% in the mean, %.2f %% at worst, "
        "from %zu sizes that were left out.</p>\n",
        loss_percent(expected.mean), loss_percent(expected.worst), session->sizes.count);
    write_map(stream, session);
    write_configurations(stream, session);
    write_picture(stream, session, entry);
    write_options(stream, &session->selection);
    fputs("</main>\n</body>\n</html>\n", stream);
    free(title);
    free(range);
    return write_file_finish(&file, 0, error);
}
