#include "report/cover_page.h"

#include "base/write_file.h"
#include "report/html.h"
#include "report/plot.h"
#include "report/report_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* In pixels. */
enum { CELL = 18, NAMES = 40, FOOT = 110 };

static const struct cover_option *best_of(const struct cover_page *page)
{
    return &page->cover->options[page->cover->best];
}

/* --- tables --- */

static void write_loss(FILE *stream, struct loss loss)
{
    fprintf(stream, "<td>%.2f</td><td>%.2f</td>", loss_percent(loss.mean),
            loss_percent(loss.worst));
}

static void write_options(FILE *stream, const struct cover_page *page)
{
    fputs("<h2>How many configurations, how much loss</h2>\n<div class=\"scroll\"><table>\n"
          "<tr><th rowspan=\"2\">configurations</th><th colspan=\"2\">best of them, %</th>"
          "<th colspan=\"2\">with the rule, %</th><th colspan=\"2\">expected elsewhere, %</th>"
          "<th rowspan=\"2\">lines</th></tr>\n"
          "<tr><th>mean</th><th>worst</th><th>mean</th><th>worst</th><th>mean</th><th>worst</th>"
          "</tr>\n",
          stream);
    for (size_t i = 0; i < page->cover->count; i++) {
        const struct cover_option *option = &page->cover->options[i];
        fprintf(stream, "<tr><td>%zu%s</td>", option->count,
                i == page->cover->best ? " (shipped)" : "");
        write_loss(stream, option->least);
        write_loss(stream, option->fitted);
        write_loss(stream, option->expected);
        fprintf(stream, "<td>%zu</td></tr>\n", option->rule.count);
    }
    fputs("</table></div>\n", stream);
}

static void write_rule(FILE *stream, const struct cover_page *page)
{
    const struct cover_option *option = best_of(page);
    fputs("<h2>The rule</h2>\n<p>The first line whose condition holds decides.</p>\n<ol>\n",
          stream);
    for (size_t i = 0; i < page->line_count; i++) {
        const struct cover_line *line = &page->lines[i];
        fprintf(stream, "<li>configuration %zu%s<code>", line->configuration + 1,
                line->condition != NULL ? " if " : "");
        html_text(stream, line->condition);
        fputs("</code></li>\n", stream);
    }
    fputs("</ol>\n<p>Configurations:</p>\n<ol>\n", stream);
    for (size_t i = 0; i < option->count; i++) {
        fputs("<li><code>", stream);
        html_text(stream, page->candidates[option->chosen[i]]);
        fputs("</code></li>\n", stream);
    }
    fputs("</ol>\n", stream);
}

/* --- the heat map --- */

/* The worst of eight colours from 20 % on. */
static enum colour colour_of(double loss)
{
    static const double steps[COLOUR_HEAT - 1] = {0.2, 1, 2, 4, 7, 12, 20};
    int colour = 0;
    while (colour < COLOUR_HEAT - 1 && loss_percent(loss) >= steps[colour])
        colour++;
    return (enum colour)(COLOUR_heat0 + colour);
}

static void write_cell(FILE *stream, const struct cover_page *page, size_t row, size_t column,
                       bool chosen)
{
    double loss = losses_of(page->losses, row, column);
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
    fprintf(stream, ": %s%.2f %%%s</title></rect>\n",
            loss >= LOSS_FAILED ? "failed, counted as " : "", loss_percent(loss),
            chosen ? ", chosen by the rule" : "");
    if (!chosen)
        return;
    svg_begin(stream, "circle", COLOUR_winner, "");
    svg_attribute(stream, "cx", x + (CELL - 1) / 2.0);
    svg_attribute(stream, "cy", y + (CELL - 1) / 2.0);
    svg_attribute(stream, "r", CELL / 4.0);
    fputs("/>\n", stream);
}

/* The number of a candidate that is shipped. */
static void write_row_name(FILE *stream, const struct cover_option *option, size_t row)
{
    char text[24];
    for (size_t i = 0; i < option->count; i++) {
        if (option->chosen[i] != row)
            continue;
        (void)snprintf(text, sizeof text, "%zu", i + 1);
        fputs("<text class=\"end\"", stream);
        svg_attribute(stream, "x", NAMES - 6);
        svg_attribute(stream, "y", CELL * (double)row + CELL * 0.75);
        svg_text(stream, text);
    }
}

static void write_column_name(FILE *stream, const struct cover_page *page, size_t column)
{
    double x = NAMES + CELL * ((double)column + 0.7);
    double y = CELL * (double)page->losses->configurations + 8;
    fputs("<text class=\"end\"", stream);
    svg_attribute(stream, "x", x);
    svg_attribute(stream, "y", y);
    svg_rotate(stream, -60, x, y);
    svg_text(stream, page->sizes[column]);
}

static void write_map(FILE *stream, const struct cover_page *page)
{
    const struct losses *losses = page->losses;
    const struct cover_option *option = best_of(page);
    fprintf(
        stream,
        "<h2>Losses at the measured sizes</h2>\n"
        "<p>A row per candidate, a column per size: the darker, the less is lost. Dots are the "
        "rule's choices, numbers the configurations that are shipped.</p>\n<div class=\"scroll\">"
        "<svg class=\"plot\" viewBox=\"0 0 %zu %zu\" style=\"width: %zupx\" role=\"img\" "
        "aria-label=\"Loss of each candidate at each size\">\n",
        NAMES + CELL * losses->sizes + CELL, CELL * losses->configurations + FOOT,
        NAMES + CELL * losses->sizes + CELL);
    for (size_t row = 0; row < losses->configurations; row++) {
        write_row_name(stream, option, row);
        for (size_t column = 0; column < losses->sizes; column++) {
            size_t choice = option->chosen[rule_decide(&option->rule, page->features, column)];
            write_cell(stream, page, row, column, choice == row);
        }
    }
    for (size_t column = 0; column < losses->sizes; column++)
        write_column_name(stream, page, column);
    fputs("</svg></div>\n", stream);
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
        loss_percent(best_of(page)->expected.mean), loss_percent(best_of(page)->expected.worst),
        page->losses->sizes);
    write_map(stream, page);
    write_rule(stream, page);
    cover_picture_write(stream, page->picture);
    write_options(stream, page);
    fputs("</main>\n</body>\n</html>\n", stream);
    return write_file_finish(&file, 0, error);
}
