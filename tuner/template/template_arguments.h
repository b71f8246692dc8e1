/* Loading a template: the arguments of launches and references (loader.h). */
#ifndef AUTOTUNE_TEMPLATE_ARGUMENTS_H
#define AUTOTUNE_TEMPLATE_ARGUMENTS_H

#include "template/loader.h"
#include "template/name_list.h"

/* Reads the section's `arguments`, which may be missing; `known` has the buffers' names as well. */
int loader_read_arguments(struct loader *loader, const char *section, const struct names *known,
                          struct launch *launch);

#endif
