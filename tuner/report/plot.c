#include "report/plot.h"

#include "base/alloc.h"
#include "report/report_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* --- elements --- */

static const char *const colour_names[] = {
#define X(name) #name,
    SVG_COLOURS(X)
#undef X
};

void svg_write_colours(FILE *stream)
{
    for (int i = 0; i < COLOUR_COUNT; i++)
        fprintf(stream, ".plot .p-%s{color:var(--%s)}\n", colour_names[i], colour_names[i]);
}

void svg_begin(FILE *stream, const char *element, enum colour colour, const char *class)
{
    fprintf(stream, "<%s class=\"p-%s%s%s\"", element, colour_names[colour],
            class[0] != '\0' ? " " : "", class);
}

/* A number in pixels with at most one decimal, the same in every locale. */
static void svg_number(FILE *stream, double number)
{
    long tenths = lround(10 * number);
    fprintf(stream, "%s%ld", tenths < 0 ? "-" : "", labs(tenths) / 10);
    if (tenths % 10 != 0)
        fprintf(stream, ".%ld", labs(tenths) % 10);
}

void svg_attribute(FILE *stream, const char *name, double number)
{
    fprintf(stream, " %s=\"", name);
    svg_number(stream, number);
    fputc('"', stream);
}

void svg_rotate(FILE *stream, int degrees, double x, double y)
{
    fprintf(stream, " transform=\"rotate(%d ", degrees);
    svg_number(stream, x);
    fputc(' ', stream);
    svg_number(stream, y);
    fputs(")\"", stream);
}

/* A step of a path, "M12.5 40". */
static void svg_step(FILE *stream, char command, double x, double y)
{
    fputc(command, stream);
    svg_number(stream, x);
    fputc(' ', stream);
    svg_number(stream, y);
}

void svg_text(FILE *stream, const char *text)
{
    html_print(stream, ">%s</text>\n", text);
}

/* --- plots --- */

static const double BASELINE = 14;      /* of a line of text, from its top */
static const double KEY_SAMPLE = 24;    /* the line beside a key, with its gap */
static const double TURNED_SIN = 0.574; /* of 35 degrees */
static const double TURNED_COS = 0.819;

enum { MAX_ROW_LETTERS = 16, MAX_COLUMN_LETTERS = 20 }; /* of words; longer ones are cut */

/* Where a number of an axis lies, in pixels; NaN if it has no place. */
static double plot_x(const struct plot *plot, double x)
{
    return plot->left + plot_axis_place(&plot->x, x) * (plot->right - plot->left);
}

static double plot_y(const struct plot *plot, double y)
{
    return plot->bottom - plot_axis_place(&plot->y, y) * (plot->bottom - plot->top);
}

/* The width that a text may take, in pixels. */
static double plot_text_width(const char *text)
{
    return PLOT_LETTER * (double)plot_letters(text);
}

/* --- layout: the label of y, keys, axes, ticks, the label of x, from top to bottom --- */

/* The width of the longest word of an axis as it is shown; 0 for an axis of numbers. */
static double words_width(const struct plot_axis *axis, size_t max_letters)
{
    double width = 0;
    for (size_t i = 0; i < axis->word_count; i++)
        width = fmax(width, plot_text_width(axis->words[i]));
    return fmin(width, PLOT_LETTER * (double)max_letters);
}

/* Where a key stands: its left end, and its row in `*row`. */
static double key_place(const struct plot *plot, size_t index, size_t *row)
{
    double x = 0;
    *row = 0;
    for (size_t i = 0; i <= index; i++) {
        double width = KEY_SAMPLE + plot_text_width(plot->keys[i].text);
        if (x > 0 && x + width > PLOT_WIDTH) {
            x = 0;
            ++*row;
        }
        x += i < index ? width + 2 * PLOT_GAP : 0;
    }
    return x;
}

static double keys_height(const struct plot *plot)
{
    size_t row;
    if (plot->key_count == 0)
        return 0;
    (void)key_place(plot, plot->key_count - 1, &row);
    return PLOT_LINE * (double)(row + 1);
}

/* Whether the words of the x axis are turned since they have no room side by side. */
static bool is_turned(const struct plot *plot)
{
    double room = (plot->right - plot->left) / fmax((double)plot->x.word_count, 1);
    return words_width(&plot->x, MAX_COLUMN_LETTERS) + PLOT_GAP > room;
}

static size_t find_ticks(const struct plot *plot, bool across,
                         struct plot_tick ticks[PLOT_MAX_TICKS])
{
    const struct plot_room x = {
        .length = plot->right - plot->left, .text = 1.2 * PLOT_LETTER, .letter = PLOT_LETTER};
    const struct plot_room y = {.length = plot->bottom - plot->top, .text = 1.3 * PLOT_LINE};
    return plot_axis_ticks(across ? &plot->x : &plot->y, across ? x : y, ticks);
}

static void lay_out(struct plot *plot)
{
    struct plot_tick ticks[PLOT_MAX_TICKS];
    plot->top = PLOT_LINE + keys_height(plot) + 1.5 * PLOT_GAP;
    plot->height = PLOT_HEIGHT + keys_height(plot);
    plot->bottom = plot->height - 2 * PLOT_LINE - PLOT_GAP;
    plot->right = PLOT_WIDTH - PLOT_GAP;
    plot->left = words_width(&plot->y, MAX_ROW_LETTERS) + PLOT_GAP;
    size_t count = find_ticks(plot, false, ticks);
    for (size_t i = 0; i < count; i++)
        plot->left = fmax(plot->left, plot_text_width(ticks[i].text) + PLOT_GAP);
    if (!is_turned(plot))
        return;
    /* turned words end at their ticks: they need room below the axis, and the first ones left of it */
    plot->height += TURNED_SIN * words_width(&plot->x, MAX_COLUMN_LETTERS) - 2 * PLOT_GAP;
    for (size_t i = 0; i < plot->x.word_count; i++) {
        double width = fmin(plot_text_width(plot->x.words[i]), PLOT_LETTER * MAX_COLUMN_LETTERS);
        double place = plot_axis_place(&plot->x, (double)i);
        plot->left = fmax(plot->left, (TURNED_COS * width - place * plot->right) / (1 - place));
    }
}

/* --- axes --- */

/* Begins a text; further attributes follow, then svg_text(). */
static void begin_text(const struct plot *plot, const char *class, double x, double y)
{
    fprintf(plot->stream, class[0] != '\0' ? "<text class=\"%s\"" : "<text%s", class);
    svg_attribute(plot->stream, "x", x);
    svg_attribute(plot->stream, "y", y);
}

/* Ends a text of an axis of words; one that is too long is cut, and whole in its tooltip. */
static void write_word(const struct plot *plot, const char *word, size_t max_letters)
{
    size_t bytes = plot_letters_bytes(word, max_letters - 1);
    if (plot_letters(word) <= max_letters) {
        svg_text(plot->stream, word);
        return;
    }
    char *cut = alloc_format("%.*s…", (int)bytes, word);
    html_print(plot->stream, "><title>%s</title", word);
    svg_text(plot->stream, cut);
    free(cut);
}

static void write_x_words(const struct plot *plot)
{
    bool turned = is_turned(plot);
    for (size_t i = 0; i < plot->x.word_count; i++) {
        double x = plot_x(plot, (double)i) + (turned ? PLOT_HALF_LETTER : 0);
        double y = plot->bottom + (turned ? BASELINE : PLOT_LINE);
        begin_text(plot, turned ? "end" : "middle", x, y);
        if (turned)
            svg_rotate(plot->stream, -35, x, y);
        write_word(plot, plot->x.words[i], MAX_COLUMN_LETTERS);
    }
}

static void write_y_words(const struct plot *plot)
{
    for (size_t i = 0; i < plot->y.word_count; i++) {
        begin_text(plot, "end", plot->left - PLOT_GAP, plot_y(plot, (double)i) + PLOT_HALF_LETTER);
        write_word(plot, plot->y.words[i], MAX_ROW_LETTERS);
    }
}

/* A path through points in pixels. */
static void write_path(const struct plot *plot, const struct plot_point *points, size_t count)
{
    fputs(" d=\"", plot->stream);
    for (size_t i = 0; i < count; i++)
        svg_step(plot->stream, i == 0 ? 'M' : 'L', points[i].x, points[i].y);
    fputs("\"/>", plot->stream);
}

/* The ticks' texts, and lines across the plot. */
static void write_ticks(const struct plot *plot, bool across)
{
    struct plot_tick ticks[PLOT_MAX_TICKS];
    size_t count = find_ticks(plot, across, ticks);
    for (size_t i = 0; i < count; i++) {
        double at = across ? plot_x(plot, ticks[i].at) : plot_y(plot, ticks[i].at);
        const struct plot_point ends[] = {
            {across ? at : plot->left, across ? plot->top : at},
            {across ? at : plot->right, across ? plot->bottom : at},
        };
        svg_begin(plot->stream, "path", COLOUR_grid, "");
        write_path(plot, ends, 2);
        if (across)
            begin_text(plot, "middle", fmin(at, PLOT_WIDTH - plot_text_width(ticks[i].text) / 2),
                       plot->bottom + PLOT_LINE);
        else
            begin_text(plot, "end", plot->left - PLOT_GAP, at + PLOT_HALF_LETTER);
        svg_text(plot->stream, ticks[i].text);
    }
}

static void write_axes(const struct plot *plot)
{
    begin_text(plot, "", 0, BASELINE);
    svg_text(plot->stream, plot->y.label);
    begin_text(plot, "middle", (plot->left + plot->right) / 2, plot->height - PLOT_HALF_LETTER);
    svg_text(plot->stream, plot->x.label);
    write_x_words(plot);
    write_y_words(plot);
    write_ticks(plot, true);
    write_ticks(plot, false);
    if (plot->y.scale == PLOT_WORDS) /* cells need no lines */
        return;
    const struct plot_point corners[] = {
        {plot->left, plot->top}, {plot->left, plot->bottom}, {plot->right, plot->bottom}};
    svg_begin(plot->stream, "path", COLOUR_axis, "");
    write_path(plot, corners, 3);
    fputc('\n', plot->stream);
}

/* --- keys --- */

static void write_line_style(const struct plot *plot, const struct plot_line_style *style)
{
    svg_attribute(plot->stream, "stroke-width", style->width);
    if (style->kind == PLOT_DASHED)
        fputs(" stroke-dasharray=\"6 4\"", plot->stream);
}

void plot_begin(struct plot *plot, const char *label)
{
    lay_out(plot);
    fprintf(plot->stream, "<svg class=\"plot\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"",
            PLOT_WIDTH, (int)plot->height);
    html_text(plot->stream, label);
    fputs("\">\n", plot->stream);
    write_axes(plot);
    for (size_t i = 0; i < plot->key_count; i++) {
        size_t row;
        double x = key_place(plot, i, &row);
        double y = PLOT_LINE * (double)(row + 1) + BASELINE;
        const struct plot_point ends[] = {{x, y - PLOT_HALF_LETTER},
                                          {x + KEY_SAMPLE - PLOT_GAP, y - PLOT_HALF_LETTER}};
        svg_begin(plot->stream, "path", plot->keys[i].style.colour, "");
        write_line_style(plot, &plot->keys[i].style);
        write_path(plot, ends, 2);
        begin_text(plot, "", x + KEY_SAMPLE, y);
        svg_text(plot->stream, plot->keys[i].text);
    }
}

void plot_end(const struct plot *plot)
{
    fputs("</svg>", plot->stream);
}

/* --- marks --- */

static const double CELL = 0.94; /* the share of its place that a cell fills */
static const double SMALL = 0.8; /* of the style sheet's class */

/* --- dots --- */

/* Half pixels, as plots are wider than their pixels on a wide screen. */
struct pixel {
    int x;
    int y;
};

static int compare_pixels(const void *left, const void *right)
{
    const struct pixel *a = left;
    const struct pixel *b = right;
    return a->x != b->x ? a->x - b->x : a->y - b->y;
}

/* The pixels of points that have a place, in order, each once; a new array. */
static struct pixel *pixels_of(const struct plot *plot, const struct plot_point *points,
                               size_t count, size_t *kept)
{
    struct pixel *pixels = alloc_zeroed(count, sizeof *pixels);
    size_t placed = 0;
    for (size_t i = 0; i < count; i++) {
        double x = plot_x(plot, points[i].x);
        double y = plot_y(plot, points[i].y);
        if (!isnan(x) && !isnan(y))
            pixels[placed++] = (struct pixel){(int)lround(2 * x), (int)lround(2 * y)};
    }
    if (placed > 1)
        qsort(pixels, placed, sizeof *pixels, compare_pixels);
    *kept = 0;
    for (size_t i = 0; i < placed; i++)
        if (*kept == 0 || compare_pixels(&pixels[*kept - 1], &pixels[i]) != 0)
            pixels[(*kept)++] = pixels[i];
    return pixels;
}

/* Pages have thousands of dots: each is a line of no length with round ends, relative to the one
 * before it. */
void plot_dots(const struct plot *plot, const struct plot_point *points, size_t count,
               enum colour colour, double radius)
{
    size_t kept;
    struct pixel before = {0, 0};
    struct pixel *pixels = pixels_of(plot, points, count, &kept);
    if (kept > 0) {
        svg_begin(plot->stream, "path", colour, "dots");
        svg_attribute(plot->stream, "stroke-width", 4 * radius);
        fputs(" transform=\"scale(.5)\" d=\"", plot->stream);
    }
    for (size_t i = 0; i < kept; i++) {
        int down = pixels[i].y - before.y;
        fprintf(plot->stream, "m%d%s%dh0", pixels[i].x - before.x, down < 0 ? "" : " ", down);
        before = pixels[i];
    }
    fputs(kept > 0 ? "\"/>\n" : "", plot->stream);
    free(pixels);
}

/* A number of an axis as people read it. */
static const char *reading(const struct plot_axis *axis, double number, char text[PLOT_TICK_BYTES])
{
    bool is_word = number >= 0 && number < (double)axis->word_count;
    return is_word ? axis->words[(size_t)number] : plot_number_text(number, text);
}

void plot_dot(const struct plot *plot, struct plot_point point, enum colour colour, double radius)
{
    double x = plot_x(plot, point.x);
    double y = plot_y(plot, point.y);
    if (isnan(x) || isnan(y))
        return;
    svg_begin(plot->stream, "circle", colour, "");
    svg_attribute(plot->stream, "cx", x);
    svg_attribute(plot->stream, "cy", y);
    svg_attribute(plot->stream, "r", radius);
    char texts[2][PLOT_TICK_BYTES];
    html_print(plot->stream, "><title>%s: %s</title></circle>\n",
               reading(&plot->x, point.x, texts[0]), reading(&plot->y, point.y, texts[1]));
}

/* --- lines --- */

void plot_line(const struct plot *plot, const struct plot_line_style *style,
               const struct plot_point *points, size_t count)
{
    double last = NAN; /* y; NAN until there is a point */
    svg_begin(plot->stream, "path", style->colour, "");
    write_line_style(plot, style);
    fputs(" d=\"", plot->stream);
    for (size_t i = 0; i < count; i++) {
        double x = plot_x(plot, points[i].x);
        double y = plot_y(plot, points[i].y);
        if (isnan(x) || isnan(y))
            continue;
        if (style->kind == PLOT_STEPS && !isnan(last))
            svg_step(plot->stream, 'L', x, last);
        svg_step(plot->stream, isnan(last) ? 'M' : 'L', x, y);
        last = y;
    }
    fputs("\"/>\n", plot->stream);
    for (size_t i = 0; i < count && style->radius > 0; i++)
        plot_dot(plot, points[i], style->colour, style->radius);
}

void plot_interval(const struct plot *plot, double x, double low, double high, enum colour colour)
{
    const struct plot_line_style style = {.colour = colour, .width = 2};
    const struct plot_point ends[] = {{x, low}, {x, high}};
    plot_line(plot, &style, ends, 2);
}

/* --- cells and notes --- */

static void write_box(const struct plot *plot, size_t column, size_t row)
{
    double width = (plot->right - plot->left) / (double)plot->x.word_count;
    double height = (plot->bottom - plot->top) / (double)plot->y.word_count;
    svg_attribute(plot->stream, "x", plot_x(plot, (double)column) - CELL * width / 2);
    svg_attribute(plot->stream, "y", plot_y(plot, (double)row) - CELL * height / 2);
    svg_attribute(plot->stream, "width", CELL * width);
    svg_attribute(plot->stream, "height", CELL * height);
    fputs("/>\n", plot->stream);
}

void plot_frame(const struct plot *plot, size_t column, size_t row, enum colour colour)
{
    svg_begin(plot->stream, "rect", colour, "frame");
    write_box(plot, column, row);
}

/* Text in a smaller font, or upright, where it does not fit across its cell. */
void plot_cell(const struct plot *plot, size_t column, size_t row, enum colour fill,
               enum colour colour, const char *text)
{
    double width = CELL * (plot->right - plot->left) / (double)plot->x.word_count;
    double needed = plot_text_width(text);
    bool small = needed > width;
    double x = plot_x(plot, (double)column);
    double y = plot_y(plot, (double)row);
    svg_begin(plot->stream, "rect", fill, "");
    write_box(plot, column, row);
    svg_begin(plot->stream, "text", colour, small ? "middle small" : "middle");
    svg_attribute(plot->stream, "x", x);
    svg_attribute(plot->stream, "y", y + PLOT_HALF_LETTER);
    if (small && SMALL * needed > width)
        svg_rotate(plot->stream, -90, x, y);
    svg_text(plot->stream, text);
}

void plot_note(const struct plot *plot, struct plot_point point, enum plot_note_place place,
               enum colour colour, const char *text)
{
    bool right = place == PLOT_RIGHT_BELOW;
    double x = plot_x(plot, point.x);
    double y = plot_y(plot, point.y) + (right ? PLOT_LINE : -PLOT_GAP);
    if (isnan(x) || isnan(y))
        return;
    svg_begin(plot->stream, "text", colour, right ? "note" : "note end");
    svg_attribute(plot->stream, "x",
                  right ? fmin(x + PLOT_GAP, plot->right - plot_text_width(text)) : x);
    svg_attribute(plot->stream, "y", y);
    svg_text(plot->stream, text);
}
