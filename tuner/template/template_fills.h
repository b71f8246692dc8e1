/* Loading a template: fills. */
#ifndef AUTOTUNE_TEMPLATE_FILLS_H
#define AUTOTUNE_TEMPLATE_FILLS_H

#include "template/loader.h"

/* Reads a fill such as "uniform(-1, 1)"; its arguments may name what `known` has. Of kernel(...) it
 * reads the entry and the arguments; the caller reads grid and block. */
int loader_read_fill(struct loader *loader, const char *text, int line, const struct names *known,
                     struct fill *fill);

#endif
