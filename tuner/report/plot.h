/*
 * Plots by gnuplot, as SVG that goes inline into an HTML page. gnuplot is one process for a whole
 * batch, started without a shell, with the script on its standard input.
 *
 * Calling sequence:
 *     struct plots plots;
 *     plots_init(&plots);
 *     FILE *script = plots_add(&plots, "time against block_size");   (for each plot)
 *     fprintf(script, "set …\nplot …\n");
 *     plots_draw(&plots, error)
 *     plots.svgs[0] …
 *     plots_release(&plots);
 *
 * Colours are those of the page's style sheet, light or dark: a script names them c_text, c_dot and
 * so on (plot_svg.h), as in `lc rgb c_dot`, or by number for `rgb variable`.
 */
#ifndef AUTOTUNE_PLOT_H
#define AUTOTUNE_PLOT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { PLOT_WIDTH = 480, PLOT_HEIGHT = 320 };

struct plots {
    FILE *script;
    char *script_text;
    size_t script_bytes;
    char **labels; /* what each shows, for readers who do not see it */
    char **svgs;   /* after plots_draw(); NULL before, and where it failed */
    size_t count;
};

/* Whether there is a gnuplot on the PATH. */
bool plots_possible(void);

void plots_init(struct plots *plots);
void plots_release(struct plots *plots);

/* Begins a plot with our defaults; its commands follow on the stream returned. */
FILE *plots_add(struct plots *plots, const char *label);

/*
 * Draws them all. Returns 0, or ERROR_RECORD where gnuplot cannot be started, says that a script is
 * wrong, or takes more than a minute. Nothing more can be added afterwards.
 */
int plots_draw(struct plots *plots, struct error *error);

#endif
