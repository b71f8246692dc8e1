/* Loading a template: [buffer.NAME] sections, element types and fills. */
#ifndef AUTOTUNE_TEMPLATE_BUFFERS_H
#define AUTOTUNE_TEMPLATE_BUFFERS_H

#include "template/loader.h"

#include <stdbool.h>

/* That `type` is an element type, or a problem word whose every choice is one. `scratch`: a
 * tunable's word will do as well, since the buffer is made for each variant. */
int loader_check_type(const struct loader *loader, const char *type, int line, bool scratch);

/* "uniform(-1, 1)"; its arguments may name what `known` has. */
int loader_read_fill(struct loader *loader, const char *text, int line, const struct names *known,
                     struct fill *fill);

/* The rest of a collected buffer. */
int loader_read_buffer(struct loader *loader, const char *section, struct buffer *buffer);

#endif
