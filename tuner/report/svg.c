#include "report/svg.h"

#include "report/html_text.h"

#include <math.h>
#include <stdlib.h>

static const char *const colour_names[] = {
#define X(name) #name,
    SVG_COLOURS(X)
#undef X
};

/* On a narrow screen a plot is smaller than its coordinates, on a wide one larger. */
static const char *const style[] = {
    ".plot-box{container-type:inline-size}",
    ".plot{display:block;width:100%;height:auto;margin-top:.5rem;color:var(--muted);",
    "font:14px system-ui,sans-serif}",
    "@container(min-width:28rem){.plot{font-size:12px}}",
    ".plot text,.plot circle,.plot rect{fill:currentColor}",
    ".plot path,.plot .frame{fill:none;stroke:currentColor;stroke-linejoin:round}",
    ".plot .dots{stroke-linecap:round}.plot .frame{stroke-width:2.5}",
    ".plot .end{text-anchor:end}.plot .middle{text-anchor:middle}",
    ".plot .small{font-size:.8em}",
    ".plot .note{font-size:.9em;paint-order:stroke;stroke:var(--card);stroke-width:4px}",
};

void svg_write_style(FILE *stream)
{
    for (size_t i = 0; i < sizeof style / sizeof *style; i++)
        fprintf(stream, "%s\n", style[i]);
    for (int i = 0; i < COLOUR_COUNT; i++)
        fprintf(stream, ".plot .p-%s{color:var(--%s)}\n", colour_names[i], colour_names[i]);
}

void svg_begin(FILE *stream, const char *element, enum colour colour, const char *class)
{
    fprintf(stream, "<%s class=\"p-%s%s%s\"", element, colour_names[colour],
            class[0] != '\0' ? " " : "", class);
}

void svg_number(FILE *stream, double number)
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

void svg_step(FILE *stream, char command, double x, double y)
{
    fputc(command, stream);
    svg_number(stream, x);
    fputc(' ', stream);
    svg_number(stream, y);
}

void svg_text(FILE *stream, const char *text)
{
    fputc('>', stream);
    html_text(stream, text);
    fputs("</text>\n", stream);
}
