/* What an entry's cover chooses, and whether a reader of the tuned INI would accept it. */
#ifndef AUTOTUNE_COVER_CHOICE_H
#define AUTOTUNE_COVER_CHOICE_H

#include "base/cover_section.h"
#include "base/error.h"
#include "record/tuned_file.h"
#include "template/value.h"

#include <stddef.h>

/*
 * Whether a reader of the tuned INI accepts the entry's cover: names, expressions, limits. Returns
 * 0 or ERROR_CONFIG with the reader's message. A cover with one line and no condition also shows
 * whether a template's expression can be a figure.
 */
int cover_entry_check(const struct tuned_entry *entry, struct error *error);

/* The section of the cover, compiled; free() it, also after an error, which is that of
 * cover_entry_check(). */
int cover_entry_section(const struct tuned_entry *entry, struct cover_section **section,
                        struct error *error);

/*
 * Decides as libtuned does, on a GPU of `sm_count` SMs (0: the entry's). `*line` is the line that
 * decides and `*configuration` what it chooses. Returns 1 in the range, 0 outside it, where neither is
 * set, or a negative error if the cover or the problem is wrong.
 */
int cover_entry_choose(const struct tuned_entry *entry, const struct bindings *problem,
                       int sm_count, size_t *line, size_t *configuration, struct error *error);

/* Whether the problem is in the cover's range. */
bool cover_entry_has(const struct tuned_entry *entry, const struct bindings *problem);

/* Whether the cover's figure `allowed`, if it has one, allows a configuration for the problem. */
bool cover_entry_allows(const struct tuned_entry *entry, size_t configuration,
                        const struct bindings *problem, int sm_count);

/* The value of a figure or an expression (waves, waves(2), m * n) for the problem, as line
 * `configuration` sees it. Returns 0 or an error. */
int cover_entry_figure(const struct tuned_entry *entry, const char *expression,
                       size_t configuration, const struct bindings *problem, int sm_count,
                       double *value, struct error *error);

/* Drops the entries for problems for which a look-up among the covers of the same kernel, template
 * version, GPU and cache state finds their configuration or one that ties: the covers are shipped
 * instead. */
void cover_drop_covered(struct tuned_file *tuned);

#endif
