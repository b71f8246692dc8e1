/*
 * Constraints that rule a configuration out at some sizes of a range, such as
 * n % vector_width == 0: as figures of a tuned INI, which are 1 where a configuration may be used
 * and 0 where it may not. Sizes that were measured do not show where such a constraint holds.
 */
#ifndef AUTOTUNE_COVER_CONDITIONS_H
#define AUTOTUNE_COVER_CONDITIONS_H

#include "command/cover_session.h"
#include "record/cover_entry.h"
#include "template/value.h"

#include <stdbool.h>
#include <stddef.h>

/* Adds the figure `allowed`, and those that it names, if any of the cover's configurations needs it,
 * or if `all`: whatever they need. Names of the GPU's attributes are replaced by their values in
 * `device`. A reader of the tuned INI may refuse the figures: cover_entry_check(). */
void cover_conditions_add(struct cover_entry *cover, const struct cover_session *session,
                          const struct bindings *device, bool all);

/* Whether a line that chooses `parameters` has to look at `allowed`: false if the constraints allow
 * them at every size. */
bool cover_conditions_apply(const struct cover_session *session, const struct bindings *device,
                            const struct bindings *parameters);

#endif
