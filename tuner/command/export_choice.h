/* Which of a kernel's configurations a header of `autotune export` has. */
#ifndef AUTOTUNE_EXPORT_CHOICE_H
#define AUTOTUNE_EXPORT_CHOICE_H

#include "base/error.h"
#include "command/command_query.h"

#include <autotune/tuned.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether those of the kernel that begins at `index` of the table come from one version of its template,
 * and from the one that the query names, if it names one. Returns 0 or ERROR_CONFIG. */
int export_check_versions(const struct command_query *query, size_t index, struct error *error);

/* False if the table also has the configuration, or the cover, for the cache state that the query
 * prefers: in a header, the two could not be told apart. */
bool export_takes(const struct command_query *query,
                  const struct tuned_configuration *configuration);

#endif
