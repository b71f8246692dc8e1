/* Loading a template: the source, description and cache state of [kernel]. */
#ifndef AUTOTUNE_TEMPLATE_KERNEL_H
#define AUTOTUNE_TEMPLATE_KERNEL_H

#include "template/loader.h"

int loader_read_kernel(struct loader *loader);

/* Takes the entry of a launch or helper (helpers.h): a C++ name joins the template's `name_expressions`. */
int loader_take_entry(struct loader *loader, const struct launch *launch);

#endif
