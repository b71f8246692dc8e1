/* What the cover of a tuned INI's entry (base/cover.h) chooses. */
#ifndef AUTOTUNE_COVER_CHOICE_H
#define AUTOTUNE_COVER_CHOICE_H

#include "record/tuned_file.h"
#include "template/value.h"

#include <stdbool.h>
#include <stddef.h>

/* How many configurations an entry has, and the parameters of one, counted from 0, which must be released. */
size_t cover_entry_count(const struct tuned_entry *entry);
struct bindings cover_entry_parameters(const struct tuned_entry *entry, size_t configuration);

/* Decides as libtuned does on the entry's GPU. Returns whether the problem is in the cover's range, and one
 * of its configurations allowed there; then `*configuration` is set to it. */
bool cover_entry_choose(const struct tuned_entry *entry, const struct bindings *problem,
                        size_t *configuration);

/* Whether the problem is in the cover's range, and its constraints allow a configuration there. */
bool cover_entry_allows(const struct tuned_entry *entry, size_t configuration,
                        const struct bindings *problem);

#endif
