/* Loading a template: the section [figures] (template_figures.h). */
#ifndef AUTOTUNE_TEMPLATE_READ_FIGURES_H
#define AUTOTUNE_TEMPLATE_READ_FIGURES_H

#include "template/loader.h"

/* Reads the section; the names of parameters, buffers and launches must be known. */
int loader_read_figures(struct loader *loader);

#endif
