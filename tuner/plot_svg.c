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

/* gnuplot's point types 1 to 15, of a radius of 1. */
const char plot_svg_symbols[] =
    "<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\"><defs>"
    "<path id=\"p0\" d=\"M-1,0h2M0,-1v2\" stroke=\"currentColor\" stroke-width=\".3\"/>"
    "<path id=\"p1\" d=\"M-1,-1L1,1M1,-1L-1,1\" stroke=\"currentColor\" stroke-width=\".4\"/>"
    "<path id=\"p3\" d=\"M-1,-1h2v2h-2z\" fill=\"none\" stroke=\"currentColor\" "
    "stroke-width=\".3\"/>"
    "<path id=\"p4\" d=\"M-1,-1h2v2h-2z\" fill=\"currentColor\"/>"
    "<circle id=\"p5\" r=\"1\" fill=\"none\" stroke=\"currentColor\" stroke-width=\".3\"/>"
    "<circle id=\"p6\" r=\"1\" fill=\"currentColor\"/>"
    "<path id=\"p8\" d=\"M0,-1.33L-1.33,.67L1.33,.67z\" fill=\"currentColor\"/>"
    "<path id=\"p10\" d=\"M0,1.33L-1.33,-.67L1.33,-.67z\" fill=\"currentColor\"/>"
    "<path id=\"p12\" d=\"M0,-1.3L1.3,0L0,1.3L-1.3,0z\" fill=\"currentColor\"/>"
    "</defs></svg>\n";

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
    {"xlink:href='#gpPt", "href='#p"},
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

/* Reads "rgb(  1,   0,  12)" or "#01000c"; the number, or -1; `*length` is what it takes. */
static long read_colour(const char *text, size_t *length)
{
    unsigned red, green, blue;
    int taken = 0;
    if (sscanf(text, "rgb( %u , %u , %u )%n", &red, &green, &blue, &taken) < 3 || taken == 0)
        return -1;
    *length = (size_t)taken;
    return (long)(red << 16 | green << 8 | blue);
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
    if (length > 0 || text[0] != 'r')
        return length;
    long colour = read_colour(text, &length) - PLOT_COLOUR_BASE;
    if (colour < 0 || colour >= PLOT_COLOUR_COUNT)
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
