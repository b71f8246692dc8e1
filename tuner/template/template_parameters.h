/* Loading a template: [parameters], [launch_parameters] and [problem]. */
#ifndef AUTOTUNE_TEMPLATE_PARAMETERS_H
#define AUTOTUNE_TEMPLATE_PARAMETERS_H

#include "template/loader.h"

#include <stdbool.h>

/* Appends the members of `section` to the problem's values if it is [problem], otherwise to the
 * parameters. `compiled`: numbers reach the kernel as definitions, as words always do. */
int loader_read_parameters(struct loader *loader, const char *section, bool compiled);

#endif
