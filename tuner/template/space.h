/*
 * The search space of one kernel on one problem: every combination of parameter values that
 * satisfies the constraints. It is enumerated lazily, in constant memory. A constraint is evaluated
 * as soon as the parameters that it names are bound, so one rejection skips all combinations below
 * it; of `a and b`, so is each condition by itself. Constraints on the compiled kernel (its registers,
 * say) are not evaluated here, except for conditions that do not name it.
 */
#ifndef AUTOTUNE_SPACE_H
#define AUTOTUNE_SPACE_H

#include "base/error.h"
#include "template/template.h"
#include "template/value.h"
#include "template/value_list.h"

#include <stdbool.h>
#include <stdint.h>

/* More variants than this are not tuned: their results take gigabytes. */
enum { SPACE_VARIANT_LIMIT = 10000000 };

struct space; /* an enumeration in progress */

/*
 * Starts an enumeration. `values[i]` lists the values of template->parameters[i]; `fixed` binds
 * problem values and device attributes. All arguments are borrowed until space_free().
 */
struct space *space_new(const struct template *template, const struct value_list *values,
                        const struct expression *const *constraints, size_t constraint_count,
                        const struct bindings *fixed);
void space_free(struct space *space);

/* An enumeration stops at `end_ns` (on clock_ns()), where nothing was said at INT64_MAX: the functions
 * below then say that it is at its end, and after another space_limit() they go on. */
void space_limit(struct space *space, int64_t end_ns);
bool space_is_over(const struct space *space); /* whether that time has come */

/*
 * Releases `parameters` and binds the next combination to it; the last parameter varies fastest.
 * Returns 1, 0 at the end, or ERROR_CONFIG if a constraint cannot be evaluated.
 */
int space_next(struct space *space, struct bindings *parameters, struct error *error);

/* The same without bindings. */
int space_skip(struct space *space, struct error *error);

/* Which of parameter `index`'s values the current combination has. */
size_t space_index(const struct space *space, size_t index);

/* The current combination: a value for each of the template's parameters, until the next one. */
const struct value *space_values(const struct space *space);

/*
 * Counts the combinations of a new enumeration, without visiting those that differ only in
 * parameters below the last constraint. Stops when there are more than `limit`; `*count` is then
 * some number above `limit`. Returns 0 or ERROR_CONFIG. Then only space_points(), space_bind()
 * and space_free() may be called.
 */
int space_count(struct space *space, uint64_t limit, uint64_t *count, struct error *error);

/*
 * For whoever chooses combinations without an enumeration, from a `struct space` of its own: binds
 * parameter `index` to its value `value` and evaluates the constraints that this completes. The
 * parameters before it must be bound. Returns 1 if those constraints are satisfied, 0 if one is
 * not, or ERROR_CONFIG.
 */
int space_bind(struct space *space, size_t index, size_t value, struct error *error);

/* The number of combinations without constraints (saturates at INT64_MAX), and the number that
 * constraints have rejected so far. */
uint64_t space_points(const struct space *space);
uint64_t space_rejected(const struct space *space);

/* The number of combinations that constraint `index` has rejected so far. */
uint64_t space_rejected_by(const struct space *space, size_t index);

#endif
