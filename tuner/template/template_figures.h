/*
 * [figures] of a template: names for expressions that others share, such as the number of tiles. An
 * expression that names one means what its own expression means there, so a figure may name whatever
 * the expressions that use it may name.
 */
#ifndef AUTOTUNE_TEMPLATE_FIGURES_H
#define AUTOTUNE_TEMPLATE_FIGURES_H

#include "template/template.h"

#include <stdbool.h>

/* `text` with the figures' expressions in place of their names; a new string, or NULL if it names
 * none. If it became longer than an expression may be, the rest is left out. */
char *template_figures_expand(const struct template *template, const char *text);

/* Whether an expression's text names a figure. */
bool template_figure_is_named(const struct template_figure *figure, const char *text);

#endif
