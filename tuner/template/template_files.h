/* The files that a device worker reads a template from. Another machine needs a copy of each. */
#ifndef AUTOTUNE_TEMPLATE_FILES_H
#define AUTOTUNE_TEMPLATE_FILES_H

#include "template/template.h"

#include <jansson.h>

/* Paths, as a new array: absolute, or relative to the current folder. One that ends in "/" is a
 * folder in which files are looked for, which may be symbolic links. */
json_t *template_files(const struct template *template);

#endif
