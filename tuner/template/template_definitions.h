/* Reads 'define' of [kernel]: macros whose names are the source's own. See loader.h. */
#ifndef AUTOTUNE_TEMPLATE_DEFINITIONS_H
#define AUTOTUNE_TEMPLATE_DEFINITIONS_H

#include "template/loader.h"

/* After the parameters. "block_size_x, SIZE = n": each is a parameter or problem value, which then
 * has no macro in capitals. */
int loader_read_definitions(struct loader *loader);

#endif
