/* Loading a template: [buffer.NAME] sections, element types and fills. */
#ifndef AUTOTUNE_TEMPLATE_BUFFERS_H
#define AUTOTUNE_TEMPLATE_BUFFERS_H

#include "template/loader.h"

#include <stdbool.h>

/* Checks that `type` is an element type, or a problem word all of whose choices are. With
 * `scratch`, it may also be a parameter's word, because the buffer is made for each variant. */
int loader_check_type(const struct loader *loader, const char *type, int line, bool scratch);

/* Reads a fill such as "uniform(-1, 1)"; its arguments may name what `known` has. */
int loader_read_fill(struct loader *loader, const char *text, int line, const struct names *known,
                     struct fill *fill);

/* Reads the rest of a buffer that loader_collect_members() added. */
int loader_read_buffer(struct loader *loader, const char *section, struct buffer *buffer);

/* Call after all launches and buffers are read. */
int loader_check_symbols(const struct loader *loader);

#endif
