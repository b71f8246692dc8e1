/* Arguments texture(buffer, width, height, words…) of [launch.*] (loader.h). */
#ifndef AUTOTUNE_TEMPLATE_TEXTURES_H
#define AUTOTUNE_TEMPLATE_TEXTURES_H

#include "template/loader.h"
#include "template/name_list.h"

/* Whether the argument is a texture. */
bool texture_is_one(const char *text);

/* Reads one: `known` has the buffers' names as well. Sets all of `argument`. */
int loader_read_texture(struct loader *loader, const char *text, int line,
                        const struct names *known, struct argument *argument);

#endif
