/* Loading a template: [launch.NAME] sections, and the grid, block and arguments of references. */
#ifndef AUTOTUNE_TEMPLATE_LAUNCHES_H
#define AUTOTUNE_TEMPLATE_LAUNCHES_H

#include "template/loader.h"

/* Reads what launches and references share: grid, block, shared bytes and arguments, each of which
 * may be missing. Arguments may name buffers in addition to `known`. */
int loader_read_geometry(struct loader *loader, const char *section, const struct names *known,
                         struct launch *launch);

/* Reads the rest of a launch that loader_collect_members() added to the template's `launches`. */
int loader_read_launch(struct loader *loader, const char *section, struct launch *launch);

#endif
