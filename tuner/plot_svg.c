#include "plot_svg.h"

#include "alloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *const colour_names[] = {
#define X(name) #name,
    PLOT_COLOURS(X)
#undef X
};

void plot_svg_write_colours(FILE *script)
{
    for (int i = 0; i < PLOT_COLOUR_COUNT; i++)
        fprintf(script, "c_%s = '#%06x'\n", colour_names[i], (unsigned)(PLOT_COLOUR_BASE + i));
}

void plot_svg_write_style(FILE *stream)
{
    for (int i = 0; i < PLOT_COLOUR_COUNT; i++)
        fprintf(stream, ".p-%s{fill:var(--plot-%s)}\n", colour_names[i], colour_names[i]);
    fputs(".dots{fill:none;stroke:var(--plot-dot);stroke-linecap:round}\n", stream);
}

/* -- rewriting ----------------------------------------------------------------------------------
 */

/* Texts as gnuplot writes them, and what stands for them; "" drops them. */
static const struct {
    const char *text;
    const char *instead;
} replacements[] = {
    {"fill=\"none\" color=\"black\" stroke=\"currentColor\" stroke-width=\"1.00\" "
     "stroke-linecap=\"butt\" stroke-linejoin=\"miter\"",
     "class=\"g\""},
    {" font-family=\"sans-serif\"", ""},
    {" font-size=\"14.00\"", ""},
    {"fill=\"black\"", "fill=\"currentColor\""},
    {"fill = ", "fill="},
    {" shape-rendering='crispEdges'", ""},
};

/* Elements that go with all that is in them, and attributes that go with their value. */
static const struct {
    const char *begin;
    const char *end;
} dropped[] = {
    {"<title>", "</title>"},         {"<desc>", "</desc>"},   {"<defs>", "</defs>"},
    {"<rect x=\"0\" y=\"0\"", "/>"}, {" id=\"gnuplot", "\""},
};

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* The bytes of `text` that go; 0 where it begins with nothing of the kind. */
static size_t dropped_length(const char *text)
{
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++) {
        if (!starts_with(text, dropped[i].begin))
            continue;
        const char *end = strstr(text + strlen(dropped[i].begin), dropped[i].end);
        return end != NULL ? (size_t)(end - text) + strlen(dropped[i].end) : strlen(text);
    }
    return 0;
}

/* Reads "rgb(  1,   0,  12)"; the number, or -1; `*length` is what it takes. */
static long read_colour(const char *text, size_t *length)
{
    unsigned red, green, blue;
    int taken = 0;
    /* NOLINTNEXTLINE(cert-err34-c): gnuplot's numbers, of three digits at most */
    if (sscanf(text, "rgb( %3u , %3u , %3u )%n", &red, &green, &blue, &taken) < 3 || taken == 0)
        return -1;
    *length = (size_t)taken;
    return (long)(red << 16 | green << 8 | blue);
}

/* The number of a page's colour that `text` begins with; -1 where it begins with none. */
static int page_colour(const char *text, size_t *length)
{
    long colour = read_colour(text, length) - PLOT_COLOUR_BASE;
    return colour >= 0 && colour < PLOT_COLOUR_COUNT ? (int)colour : -1;
}

/* A point of type 7, a filled circle, as gnuplot writes it: the use of a symbol. */
struct mark {
    double x, y, radius;
    int colour;
};

/* Returns the bytes of `text` that the point takes; 0: no such point. */
static size_t read_mark(const char *text, struct mark *mark)
{
    int before_colour = 0;
    int behind = 0;
    size_t length;
    /* NOLINTNEXTLINE(cert-err34-c): gnuplot's numbers, and infinity would do no harm */
    if (sscanf(text, "<use xlink:href='#gpPt6' transform='translate(%lf,%lf) scale(%lf)' color='%n",
               &mark->x, &mark->y, &mark->radius, &before_colour) < 3 ||
        before_colour == 0)
        return 0;
    mark->colour = page_colour(text + before_colour, &length);
    if (mark->colour < 0)
        return 0;
    (void)sscanf(text + before_colour + length, "'/>%n", &behind);
    return behind > 0 ? (size_t)before_colour + length + (size_t)behind : 0;
}

/* Pages have thousands of plain variants: each run of them is one path, every dot a line of no
 * length with round ends. Returns the bytes of `text` that the run takes. */
static size_t replace_dots(const char *text, FILE *stream)
{
    struct mark mark;
    double radius = -1;
    size_t taken = 0;
    size_t length;
    while ((length = read_mark(text + taken, &mark)) > 0 && mark.colour == PLOT_COLOUR_dot &&
           (radius < 0 || mark.radius == radius)) {
        if (radius < 0)
            fprintf(stream, "<path class=\"dots\" stroke-width=\"%.1f\" d=\"", 2 * mark.radius);
        radius = mark.radius;
        fprintf(stream, "M%.1f %.1fh0", mark.x, mark.y);
        taken += length;
        taken += strspn(text + taken, "\r\n\t ");
    }
    if (taken > 0)
        fputs("\"/>", stream);
    return taken;
}

/* Returns the bytes of `text` that the point, or the run of dots, takes; 0: there is none. */
static size_t replace_mark(const char *text, FILE *stream)
{
    struct mark mark;
    size_t length = read_mark(text, &mark);
    if (length > 0 && mark.colour == PLOT_COLOUR_dot)
        return replace_dots(text, stream);
    if (length > 0)
        fprintf(stream, "<circle class=\"p-%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>",
                colour_names[mark.colour], mark.x, mark.y, mark.radius);
    return length;
}

/* Writes what stands for the beginning of `text`; returns the bytes of `text` that it stands for, 0
 * where there is nothing to be replaced. */
static size_t replace(const char *text, FILE *stream)
{
    size_t length = dropped_length(text);
    for (size_t i = 0; length == 0 && i < sizeof replacements / sizeof *replacements; i++) {
        if (!starts_with(text, replacements[i].text))
            continue;
        fputs(replacements[i].instead, stream);
        return strlen(replacements[i].text);
    }
    if (length == 0)
        length = replace_mark(text, stream);
    if (length > 0 || text[0] != 'r')
        return length;
    int colour = page_colour(text, &length);
    if (colour < 0)
        return 0;
    fprintf(stream, "var(--plot-%s)", colour_names[colour]);
    return length;
}

/* White space between elements goes, within them one blank is enough. */
static size_t skip_blanks(const char *text, bool in_element, FILE *stream)
{
    size_t length = strspn(text, "\r\n\t");
    if (length > 0 && in_element)
        fputc(' ', stream);
    return length;
}

static void rewrite(const char *text, FILE *stream)
{
    bool in_element = false;
    while (*text != '\0') {
        size_t length = skip_blanks(text, in_element, stream);
        if (length == 0)
            length = replace(text, stream);
        if (length > 0) {
            text += length;
            continue;
        }
        if (*text == '<')
            in_element = true;
        else if (*text == '>')
            in_element = false;
        fputc(*text++, stream);
    }
}

/* Groups that nothing is in; taking one out may empty the one around it. */
static void drop_empty_groups(char *text)
{
    static const char *const empty[] = {"<g class=\"g\"></g>", "<g ></g>", "<g></g>"};
    bool again = true;
    while (again) {
        again = false;
        for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
            size_t length = strlen(empty[i]);
            for (char *found = text; (found = strstr(found, empty[i])) != NULL; again = true)
                memmove(found, found + length, strlen(found + length) + 1);
        }
    }
}

static void write_label(const char *label, FILE *stream)
{
    for (; *label != '\0'; label++) {
        if (strchr("<>&\"", *label) != NULL)
            fprintf(stream, "&#%d;", *label);
        else
            fputc(*label, stream);
    }
}

char *plot_svg_inline(const char *svg, const char *label)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (stream == NULL)
        abort(); /* out of memory, as in alloc.h */
    const char *box = strstr(svg, "viewBox=\"");
    size_t box_length = box != NULL ? strcspn(box + strlen("viewBox=\""), "\"") + 10 : 0;
    const char *body = strchr(svg, '>');
    fprintf(stream, "<svg class=\"plot\" %.*s role=\"img\" aria-label=\"", (int)box_length,
            box != NULL ? box : "");
    write_label(label, stream);
    fputs("\">", stream);
    rewrite(body != NULL ? body + 1 : "", stream);
    fputs("</svg>", stream);
    if (fclose(stream) != 0)
        abort();
    drop_empty_groups(text);
    return text;
}
