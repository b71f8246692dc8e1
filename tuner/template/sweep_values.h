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
#include "template/expression.h"
#include "template/sweep_statements.h"
#include "template/template.h"
#include "template/value.h"
#include "template/value_list.h"

#include <stdbool.h>
#include <stddef.h>

/* Owned by the caller, also after a failure. */
struct sweep_values {
    struct value_list *parameters; /* of template.parameters[i]; the default if nothing is given */
    struct value_list *problem;
    struct bindings *problems; /* every combination of the problem's values */
    size_t problem_count;
    struct expression **constraints; /* of tuples of parameters */
    size_t constraint_count;
};

/* Settings of other kernels' names are passed over. Returns 0; ERROR_CONFIG with the place; or
 * ERROR_USAGE for a setting without a value. */
int sweep_values_read(struct sweep_values *values, const struct sweep_section *section,
                      struct error *error);

/* Whether a setting names something that the template has. */
bool sweep_values_concern(const struct template *template, const char *setting);

/* ERROR_USAGE for a setting that concerns no kernel, with the nearest of the template's names. */
int sweep_values_unknown(const struct template *template, const char *setting, struct error *error);

#endif
