/* Loading a template: [buffer.NAME] sections and element types. */
#ifndef AUTOTUNE_TEMPLATE_BUFFERS_H
#define AUTOTUNE_TEMPLATE_BUFFERS_H

#include "template/loader.h"

/* Checks that `type` is an element type, or a problem value's or parameter's word all of whose
 * choices are. */
int loader_check_type(const struct loader *loader, const char *type, int line);

/* Reads the rest of a buffer that loader_collect_members() added. */
int loader_read_buffer(struct loader *loader, const char *section, struct buffer *buffer);

/* Call after all launches and buffers are read. */
int loader_check_symbols(const struct loader *loader);

#endif
