/* Arguments texture(buffer, width, height, words…) of [launch.*] (loader.h). */
#ifndef AUTOTUNE_TEMPLATE_TEXTURES_H
#define AUTOTUNE_TEMPLATE_TEXTURES_H

#include "template/loader.h"
#include "template/name_list.h"

/* Reads what is between the parentheses of one; `known` has the buffers' names as well. Sets all of
 * `argument`. */
int loader_read_texture(struct loader *loader, const char *inner, int line,
                        const struct names *known, struct argument *argument);

#endif
