#include "command/cover_print.h"

#include "base/alloc.h"
#include "base/cover.h"
#include "base/text_table.h"
#include "base/write_file.h"
#include "report/plot.h"
#include "report/report_text.h"
#include "template/value_list.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 120 };

static void __attribute__((format(printf, 2, 3)))
add_cell(struct text_table *table, const char *format, ...)
{
    char text[64];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    text_table_cell(table, text);
}

static void add_columns(struct text_table *table, const char *const *headings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        text_table_column(table, headings[i], TABLE_RIGHT);
}

/* "n = 65536 .. 1073741824, value_type=float, cold L2 cache"; a new string. */
static char *range_text(const struct cover_session *session)
{
    const struct sweep_cover *cover = &session->range.kernel->cover;
    char *fixed = bindings_text(&session->range.fixed);
    char *text = alloc_string("");
    for (size_t i = 0; i < cover->axis_count; i++)
        alloc_append(&text, "%s = %" PRId64 " .. %" PRId64 ", ", cover->axes[i].name,
                     cover->axes[i].low, cover->axes[i].high);
    alloc_append(&text, "%s%s%s L2 cache", fixed, fixed[0] != '\0' ? ", " : "",
                 cover_session_study(session)->cache);
    free(fixed);
    return text;
}

static void print_heading(const struct cover_session *session)
{
    char *range = range_text(session);
    printf("%s on %s: %s\n", session->kernel, cover_session_study(session)->environment.gpu.name,
           range);
    free(range);
    printf("%zu candidate%s measured at %zu size%s\n\n", session->nominees.count,
           session->nominees.count == 1 ? "" : "s", session->sizes.count,
           session->sizes.count == 1 ? "" : "s");
}

/* The one that is shipped. */
static const struct selection_option *shipped(const struct cover_session *session)
{
    return &session->selection.options[session->selection.best];
}

/* "1.23", or "-" if too few sizes were measured to tell what is lost elsewhere. */
static const char *expected_cell(const struct cover_session *session, double loss, char text[32])
{
    (void)snprintf(text, 32, "%.2f", loss_percent(loss));
    return session->sizes.count < SIZES_HELD_OUT ? "-" : text;
}

/* The same of the whole range; a new string. */
static char *expected_text(const struct cover_session *session)
{
    const struct loss expected = shipped(session)->expected;
    return session->sizes.count < SIZES_HELD_OUT
               ? alloc_format("not known, because fewer than %d sizes were measured",
                              SIZES_HELD_OUT)
               : alloc_format("%.2f %% in the mean, %.2f %% at worst, from %zu sizes left out",
                              loss_percent(expected.mean), loss_percent(expected.worst),
                              session->sizes.count);
}

static void print_options(const struct cover_session *session)
{
    static const char *const headings[] = {"configurations", "mean loss %", "worst loss %",
                                           "expected: mean", "worst loss %"};
    char cell[32];
    struct text_table *table = text_table_new();
    add_columns(table, headings, sizeof headings / sizeof *headings);
    text_table_column(table, "", TABLE_LEFT);
    for (size_t i = 0; i < session->selection.count; i++) {
        const struct selection_option *option = &session->selection.options[i];
        add_cell(table, "%zu", option->count);
        add_cell(table, "%.2f", loss_percent(option->least.mean));
        add_cell(table, "%.2f", loss_percent(option->least.worst));
        text_table_cell(table, expected_cell(session, option->expected.mean, cell));
        text_table_cell(table, expected_cell(session, option->expected.worst, cell));
        text_table_cell(table, i == session->selection.best ? "chosen" : "");
    }
    puts("How many configurations, and how much loss: with the fastest of them at each measured "
         "size,\nand at sizes that were left out, by the others");
    text_table_print(table, WIDTH, stdout);
    text_table_free(table);
    putchar('\n');
    for (size_t i = 0; i < shipped(session)->count; i++) {
        char *text = bindings_text(&session->nominees.items[shipped(session)->chosen[i]]);
        printf("configuration %zu: %s\n", i + 1, text);
        free(text);
    }
    puts("rule: for a problem, the configuration that is expected to be the fastest, by its times "
         "at "
         "the nearest\nmeasured sizes\n");
}

static void print_sizes(const struct cover_session *session)
{
    static const char *const headings[] = {"configuration", "median us", "loss %", "left out %"};
    const struct selection_option *option = shipped(session);
    struct text_table *table = text_table_new();
    char cell[32];
    for (size_t i = 0; i < session->sizes.axes; i++)
        text_table_column(table, session->range.kernel->cover.axes[i].name, TABLE_RIGHT);
    add_columns(table, headings, sizeof headings / sizeof *headings);
    for (size_t size = 0; size < session->sizes.count; size++) {
        size_t fastest = selection_fastest(option, &session->losses, size);
        size_t candidate = option->chosen[fastest];
        double time_ns = session->times_ns[candidate * session->sizes.count + size];
        for (size_t i = 0; i < session->sizes.axes; i++)
            add_cell(table, "%" PRId64, sizes_at(&session->sizes, size)[i]);
        add_cell(table, "%zu", fastest + 1);
        if (time_ns > 0)
            add_cell(table, "%.2f", time_ns * 1e-3);
        else
            text_table_cell(table, "failed");
        add_cell(table, "%.2f", loss_percent(losses_of(&session->losses, candidate, size)));
        text_table_cell(table, expected_cell(session, option->expected_at[size], cell));
    }
    text_table_print(table, WIDTH, stdout);
    text_table_free(table);
}

/* The sizes that the cover knows nothing of. */
static void print_left_out(const struct cover_session *session)
{
    const struct sizes *sizes = &session->left_out;
    if (sizes->count > 0)
        puts("\nnothing could be measured at");
    for (size_t i = 0; i < sizes->count; i++)
        for (size_t j = 0; j < sizes->axes; j++)
            printf("%s%s=%" PRId64 "%s", j == 0 ? "  " : " ",
                   session->range.kernel->cover.axes[j].name, sizes_at(sizes, i)[j],
                   j + 1 == sizes->axes ? "\n" : "");
}

/* Whether it has a time at some size: otherwise, nobody expects it in the cover. */
static bool is_measured(const struct cover_session *session, const struct bindings *parameters)
{
    bool measured = false;
    for (size_t i = 0; i < session->sizes.count && !measured; i++) {
        const struct study *study = &session->tuned[i];
        for (size_t j = 0; j < study->result_count && !measured; j++)
            measured = study_run(study, &study->results[j])->outcome == OUTCOME_MEASURED &&
                       bindings_equal(&study->results[j].parameters, parameters);
    }
    return measured;
}

static void print_refuted(const struct cover_session *session)
{
    enum { MOST = 20 };
    size_t count = 0;
    for (size_t i = 0; i < session->refuted.count; i++) {
        if (!is_measured(session, &session->refuted.items[i]))
            continue;
        if (count == 0)
            puts("\nnot shipped, because they were wrong, crashed or hung in the range:");
        char *text = bindings_text(&session->refuted.items[i]);
        if (count++ < MOST)
            printf("  %s: %s\n", text, session->refutations[i]);
        free(text);
    }
    if (count > MOST)
        printf("  and %zu more\n", count - MOST);
}

void cover_print(const struct cover_session *session)
{
    char *expected = expected_text(session);
    print_heading(session);
    print_options(session);
    print_sizes(session);
    printf("\nexpected loss at sizes that were not measured: %s\n", expected);
    print_left_out(session);
    print_refuted(session);
    free(expected);
}

/* --- the page --- */

/* In pixels. */
enum { CELL = 18, NAMES = 40, FOOT = 110 };

static void write_options(FILE *stream, const struct cover_session *session)
{
    const struct selection *selection = &session->selection;
    char mean[32];
    char worst[32];
    fputs("<h2>How many configurations, how much loss</h2>\n<div class=\"scroll\"><table>\n"
          "<tr><th rowspan=\"2\">configurations</th><th colspan=\"2\">fastest of them, %</th>"
          "<th colspan=\"2\">expected elsewhere, %</th></tr>\n"
          "<tr><th>mean</th><th>worst</th><th>mean</th><th>worst</th></tr>\n",
          stream);
    for (size_t i = 0; i < selection->count; i++) {
        const struct selection_option *option = &selection->options[i];
        fprintf(stream, "<tr><td>%zu%s</td><td>%.2f</td><td>%.2f</td><td>%s</td><td>%s</td></tr>\n",
                option->count, i == selection->best ? " (shipped)" : "",
                loss_percent(option->least.mean), loss_percent(option->least.worst),
                expected_cell(session, option->expected.mean, mean),
                expected_cell(session, option->expected.worst, worst));
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
    const struct selection_option *option = shipped(session);
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
    const struct selection_option *option = shipped(session);
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

int cover_print_page(const struct cover_session *session, const struct tuned_entry *entry,
                     const char *path, struct error *error)
{
    const char *gpu = cover_session_study(session)->environment.gpu.name;
    struct write_file file;
    int status = write_file_begin(&file, path, error);
    if (status != 0)
        return status;
    FILE *stream = file.stream;
    char *title = alloc_format("%s on %s", session->kernel, gpu);
    char *range = range_text(session);
    char *expected = expected_text(session);
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
    fprintf(stream, ". Expected loss at sizes that were not measured: %s.</p>\n", expected);
    write_map(stream, session);
    write_configurations(stream, session);
    write_picture(stream, session, entry);
    write_options(stream, session);
    fputs("</main>\n</body>\n</html>\n", stream);
    free(title);
    free(range);
    free(expected);
    return write_file_finish(&file, 0, error);
}
