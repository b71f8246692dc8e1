/* The files that a template is read from again by a device worker. Another machine needs a copy of each. */
#ifndef AUTOTUNE_TEMPLATE_FILES_H
#define AUTOTUNE_TEMPLATE_FILES_H

#include "template/template.h"

#include <jansson.h>

/* Paths, as a new array: absolute, or relative to the current folder. One that ends in "/" is a
 * folder that must be there. */
json_t *template_files(const struct template *template);

#endif
