#include "report/plot_svg.h"

#include "base/alloc.h"

#include <ctype.h>
#include <math.h>
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
    fputs(".dots{fill:none;stroke:var(--plot-dot);stroke-linecap:round}\n"
          ".p-line{stroke:var(--plot-axis)}.p-gridline{stroke:var(--plot-grid)}\n"
          ".p-end,.p-middle,.p-start{stroke:none;fill:var(--plot-muted)}\n"
          ".p-end{text-anchor:end}.p-middle{text-anchor:middle}.p-start{text-anchor:start}\n",
          stream);
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
 * length with round ends, to the next pixel and from the one before. Returns the bytes of `text`
 * that the run takes. */
static size_t replace_dots(const char *text, FILE *stream)
{
    struct mark mark;
    double radius = -1;
    long x = 0;
    long y = 0;
    size_t taken = 0;
    size_t length;
    while ((length = read_mark(text + taken, &mark)) > 0 && mark.colour == PLOT_COLOUR_dot &&
           (radius < 0 || mark.radius == radius)) {
        long right = lround(mark.x) - x;
        long down = lround(mark.y) - y;
        if (radius < 0)
            fprintf(stream, "<path class=\"dots\" stroke-width=\"%.1f\" d=\"", 2 * mark.radius);
        if (radius < 0 || right != 0 || down != 0)
            fprintf(stream, "m%ld%s%ldh0", right, down < 0 ? "" : " ", down);
        radius = mark.radius;
        x += right;
        y += down;
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

/* -- what is left, shorter ------------------------------------------------------------------------
 */

/* Groups that nothing is in; taking one out may empty the one around it. */
static void drop_empty_groups(char *text)
{
    bool again = true;
    while (again) {
        char *to = text;
        again = false;
        for (const char *from = text; *from != '\0';) {
            size_t length = starts_with(from, "<g") ? strcspn(from, ">") : 0;
            bool empty = length > 0 && (from[2] == ' ' || from[2] == '>') &&
                         starts_with(from + length, "></g>");
            again = again || empty;
            if (empty)
                from += length + strlen("></g>");
            else
                *to++ = *from++;
        }
        *to = '\0';
    }
}

/* Neighbouring groups of the common class are one. */
static void join_groups(char *text)
{
    static const char begin[] = "<g class=\"g\">";
    static const char end[] = "</g>";
    bool common[64] = {false}; /* of the groups that are open */
    size_t depth = 0;
    char *to = text;
    for (const char *from = text; *from != '\0';) {
        bool closes = starts_with(from, end);
        if (closes && depth > 0 && depth <= 64 && common[depth - 1] &&
            starts_with(from + strlen(end), begin)) {
            from += strlen(end) + strlen(begin);
            continue;
        }
        if (closes && depth > 0) {
            depth--;
        } else if (starts_with(from, "<g ") || starts_with(from, "<g>")) {
            if (depth < 64)
                common[depth] = starts_with(from, begin);
            depth++;
        }
        *to++ = *from++;
    }
    *to = '\0';
}

/* What stands often in every plot, none longer than what it is for. */
static const struct {
    const char *text;
    const char *instead;
} shorter[] = {
    {"<path stroke='var(--plot-grid)' class=\"gridline\"  d=", "<path class=\"p-gridline\" d="},
    {"<path stroke='var(--plot-axis)'  d=", "<path class=\"p-line\" d="},
    {"  '/>", "'/>"},
    {"<g >", "<g>"},
};

/*
 * <g transform="translate(74.84,249.55)" stroke="none" fill="var(--plot-muted)"
 * text-anchor="end"><text>62.5</text></g>, a tic's text, as <text class="p-end" x="74.8"
 * y="249.5">62.5</text>. Moves `*to` on; returns the bytes of `text` that are done, up to the end
 * of the group; 0 for anything else.
 */
static size_t shorten_label(const char *text, char **to)
{
    static const char end[] = "</text></g>";
    double x, y;
    char anchor[8];
    int taken = 0;
    /* NOLINTNEXTLINE(cert-err34-c): gnuplot's numbers, as above */
    if (sscanf(text,
               "<g transform=\"translate(%lf,%lf)\" stroke=\"none\" fill=\"var(--plot-muted)\"  "
               "text-anchor=\"%7[a-z]\"><text>%n",
               &x, &y, anchor, &taken) < 3 ||
        taken == 0)
        return 0;
    size_t length = strcspn(text + taken, "<");
    if (!starts_with(text + taken + length, end))
        return 0;
    char start[96];
    int written =
        snprintf(start, sizeof start, "<text class=\"p-%s\" x=\"%.1f\" y=\"%.1f\">", anchor, x, y);
    if (written < 0 || written >= (int)sizeof start || written > taken)
        return 0;
    memcpy(*to, start, (size_t)written);
    memmove(*to + written, text + taken, length);
    *to += (size_t)written + length;
    memcpy(*to, "</text>", strlen("</text>"));
    *to += strlen("</text>");
    return (size_t)taken + length + strlen(end);
}

/* A tic of no length: <path stroke='var(--plot-axis)'  d='M74.85,252.80  '/>. Returns its bytes, 0
 * for anything else. */
static size_t no_line(const char *text)
{
    static const char start[] = "<path stroke='var(--plot-axis)'  d='M";
    if (!starts_with(text, start))
        return 0;
    size_t length = strlen(start) + strspn(text + strlen(start), "0123456789., ");
    return starts_with(text + length, "'/>") ? length + strlen("'/>") : 0;
}

/* One of `shorter`: writes what is instead; returns the bytes of `text` that it is for. */
static size_t shorten_text(const char *text, char **to)
{
    for (size_t i = 0; i < sizeof shorter / sizeof *shorter; i++) {
        if (!starts_with(text, shorter[i].text))
            continue;
        memcpy(*to, shorter[i].instead, strlen(shorter[i].instead));
        *to += strlen(shorter[i].instead);
        return strlen(shorter[i].text);
    }
    return 0;
}

/* Whether `next` is the second decimal of a number of which the rest stands before `end`: nobody
 * sees it. */
static bool is_second_decimal(const char *start, const char *end, const char *next)
{
    return end - start >= 2 && end[-2] == '.' && isdigit((unsigned char)end[-1]) &&
           isdigit((unsigned char)next[0]) && !isdigit((unsigned char)next[1]);
}

static void shorten(char *text)
{
    char *to = text;
    bool in_element = false;
    for (const char *from = text; *from != '\0';) {
        size_t length = no_line(from);
        if (length == 0)
            length = shorten_label(from, &to);
        if (length == 0)
            length = shorten_text(from, &to);
        if (length > 0) {
            from += length;
            in_element = from[-1] != '>';
        } else if (in_element && is_second_decimal(text, to, from)) {
            from++;
        } else {
            in_element = *from == '<' || (in_element && *from != '>');
            *to++ = *from++;
        }
    }
    *to = '\0';
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
    join_groups(text);
    shorten(text);
    return text;
}
