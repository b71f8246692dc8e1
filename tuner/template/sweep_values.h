/*
 * The values that a kernel's section of a sweep gives to parameters and problem values, and those
 * that the command line gives in their place:
 *
 *     block_size = 64, 128            a list (value_list.h)
 *     (m, n) = (512, 64), (64, 512)   tuples: these combinations alone
 *     --set block_size=256            in place of the section's list
 */
#ifndef AUTOTUNE_SWEEP_VALUES_H
#define AUTOTUNE_SWEEP_VALUES_H

#include "base/error.h"
#include "template/sweep.h"

#include <stdbool.h>

/*
 * Fills kernel->values, problem_values and problems, with the default where nothing is given.
 * Tuples of parameters become lists of every value, and constraints in kernel->own_constraints.
 * `settings` (ended by NULL, or NULL) are NAME=LIST or (NAME, NAME)=TUPLES; those of other kernels'
 * names are passed over. Returns 0; ERROR_CONFIG with the place; or
 * ERROR_USAGE for a setting without a value.
 */
int sweep_values_read(struct sweep *sweep, struct sweep_kernel *kernel, const char *const *settings,
                      struct error *error);

/* ERROR_USAGE for a setting whose name no kernel of the sweep has. */
int sweep_values_check_settings(const struct sweep *sweep, const char *const *settings,
                                struct error *error);

/* Whether a key of a section is a tuple of names, such as (m, n). */
bool sweep_values_is_tuple(const char *key);

#endif
