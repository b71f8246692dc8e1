/* Loading a template: the arguments of launches and references (loader.h). */
#ifndef AUTOTUNE_TEMPLATE_ARGUMENTS_H
#define AUTOTUNE_TEMPLATE_ARGUMENTS_H

#include "template/loader.h"
#include "template/name_list.h"

/* Reads the section's `arguments`, which may be missing; `known` has the buffers' names as well. */
int loader_read_arguments(struct loader *loader, const char *section, const struct names *known,
                          struct launch *launch);

/* Appends arguments, one per text. */
int loader_append_arguments(struct loader *loader, char **texts, size_t count, int line,
                            const struct names *known, struct launch *launch);

/* Returns ERROR_CONFIG if `name`, which only `who` has, is among the arguments. */
int loader_refuse_name(struct loader *loader, const struct launch *launch, const char *name,
                       const char *who);

/* Refuses arguments that helpers (helpers.h) cannot have: textures and tensor maps. `what` names
 * the helper's kind. */
int loader_check_helper_arguments(struct loader *loader, const struct launch *helper,
                                  const char *what);

#endif
