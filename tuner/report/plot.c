#include "report/plot.h"

#include "base/alloc.h"
#include "base/subprocess.h"
#include "report/plot_svg.h"

#include <stdlib.h>
#include <string.h>

bool plots_possible(void)
{
    char *path = subprocess_find("gnuplot");
    bool found = path != NULL;
    free(path);
    return found;
}

/* -- the script ---------------------------------------------------------------------------------
 */

void plots_init(struct plots *plots)
{
    *plots = (struct plots){0};
    plots->script = open_memstream(&plots->script_text, &plots->script_bytes);
    if (plots->script == NULL)
        abort(); /* out of memory, as in alloc.h */
    fputs("set encoding utf8\n", plots->script);
    plot_svg_write_colours(plots->script);
}

void plots_release(struct plots *plots)
{
    if (plots->script != NULL)
        (void)fclose(plots->script);
    for (size_t i = 0; i < plots->count; i++) {
        free(plots->labels[i]);
        if (plots->svgs != NULL)
            free(plots->svgs[i]);
    }
    free(plots->labels);
    free(plots->svgs);
    free(plots->script_text);
    *plots = (struct plots){0};
}

FILE *plots_add(struct plots *plots, const char *label)
{
    char **slot = ARRAY_APPEND(plots->labels, plots->count);
    *slot = alloc_string(label);
    fprintf(plots->script,
            "unset output\n"
            "reset\n"
            "set terminal svg size %d,%d noenhanced font 'sans-serif,14'\n"
            "set output\n"
            "set border 3 lc rgb c_axis\n"
            "set tics nomirror scale 0 textcolor rgb c_muted\n"
            "set grid back lc rgb c_grid lt 1\n"
            "set key off\n",
            PLOT_WIDTH, PLOT_HEIGHT);
    return plots->script;
}

/* -- drawing ------------------------------------------------------------------------------------
 */

/* Takes the SVG documents, one behind the other, apart. */
static int take_svgs(struct plots *plots, const char *output, struct error *error)
{
    plots->svgs = alloc_zeroed(plots->count, sizeof *plots->svgs);
    for (size_t i = 0; i < plots->count; i++) {
        const char *begin = strstr(output, "<svg");
        const char *end = begin != NULL ? strstr(begin, "</svg>") : NULL;
        if (end == NULL)
            return error_set(error, ERROR_RECORD, "gnuplot drew %zu plots of %zu", i, plots->count);
        char *svg = alloc_string_n(begin, (size_t)(end - begin));
        plots->svgs[i] = plot_svg_inline(svg, plots->labels[i]);
        free(svg);
        output = end;
    }
    return 0;
}

int plots_draw(struct plots *plots, struct error *error)
{
    char *arguments[] = {(char[]){"gnuplot"}, (char[]){"-d"}, NULL}; /* -d: no ~/.gnuplot */
    char *output;
    fputs("unset output\n", plots->script);
    int failed = fclose(plots->script);
    plots->script = NULL;
    if (failed)
        return error_set_errno(error, ERROR_RECORD, "the plots' script cannot be kept");
    if (plots->count == 0)
        return 0;
    int result = subprocess_run(arguments, plots->script_text, plots->script_bytes, &output, error);
    if (result == 0)
        result = take_svgs(plots, output, error);
    free(output);
    return result;
}
