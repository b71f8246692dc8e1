/* Loading a template: checks the names that it defines. */
#ifndef AUTOTUNE_TEMPLATE_NAMES_H
#define AUTOTUNE_TEMPLATE_NAMES_H

#include "template/loader.h"

#include <stdbool.h>

/* The kernel statistics that a launch's expressions may name; ended by NULL. */
const char *const *launch_figure_names(void);

/* Whether a name means something in expressions or sweeps: a function, a figure, a device attribute
 * or a key. */
bool template_name_is_reserved(const char *name);

/* Adds all such names. */
void template_names_reserved(struct names *names);

/* That a name has the form of one: up to 31 lower-case letters, digits and underscores. */
int loader_check_letters(const struct loader *loader, const char *name, int line);

/* Checks that a new name has no other meaning: as a kernel statistic, device attribute, function or
 * key, or as a parameter, problem value or buffer read so far. */
int loader_check_unused(const struct loader *loader, const char *name, int line);

/* Both checks. */
int loader_check_name(const struct loader *loader, const char *name, int line);

/* Appends buffers, launches and expectations in the file's order, with only their names and lines,
 * because the expressions of all of them use these names. */
int loader_collect_members(struct loader *loader);

/* Fills the loader's lists of names and the template's `constraint_names`. Call it after
 * parameters, problem and members have been read. */
int loader_collect_names(struct loader *loader);

#endif
