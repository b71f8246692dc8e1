/*
 * The search space of one kernel on one problem: every combination of its parameters' values that
 * no constraint refuses. Enumerated lazily, in constant memory; a constraint is decided as soon as
 * the parameters it names are bound, so that one refusal skips everything below it. Constraints on
 * compiled figures are left for later.
 */
#ifndef AUTOTUNE_SPACE_H
#define AUTOTUNE_SPACE_H

#include "base/error.h"
#include "template/expression.h"
#include "template/template.h"
#include "template/value.h"
#include "template/value_list.h"

#include <stdbool.h>
#include <stdint.h>

struct space; /* an enumeration in progress */

/*
 * Starts enumerating. `values[i]` are the values of template->parameters[i]; `fixed` binds the
 * problem's values and the device's attributes. All are borrowed until space_free().
 */
struct space *space_new(const struct template *template, const struct value_list *values,
                        const struct expression *const *constraints, size_t constraint_count,
                        const struct bindings *fixed);
void space_free(struct space *space);

/*
 * The next combination into `parameters` (released first), the last parameter varying fastest.
 * Returns 1, 0 at the end, or ERROR_CONFIG where a constraint cannot be evaluated.
 */
int space_next(struct space *space, struct bindings *parameters, struct error *error);

/* The same without making bindings, for counting. */
int space_skip(struct space *space, struct error *error);

/* How many combinations there are without constraints (UINT64_MAX where that does not fit), and how
 * many constraints have refused so far. */
uint64_t space_points(const struct space *space);
uint64_t space_rejected(const struct space *space);

/* How many combinations constraint `index` has refused so far. */
uint64_t space_rejected_by(const struct space *space, size_t index);

#endif
