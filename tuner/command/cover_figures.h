/*
 * The figures of a launch that a cover's rule may look at, as expressions of the tuned INI. They
 * are built from the template's own expressions for the main launch.
 */
#ifndef AUTOTUNE_COVER_FIGURES_H
#define AUTOTUNE_COVER_FIGURES_H

#include "command/cover_session.h"
#include "record/cover_entry.h"

/* What rules look at: waves, tail, elements_per_thread. */
enum { COVER_RULE_FIGURES = 3 };
extern const char *const cover_figures[COVER_RULE_FIGURES];

/* Counts of blocks that run one after another, which estimates of times multiply with the work of a
 * block: those of the busiest SM; whole waves; and waves that take less time if they are not full, but
 * not less than half. */
enum { COVER_QUEUES = 3 };
extern const char *const cover_queues[COVER_QUEUES];

/* How much of a tile a block computes, and how many blocks share it beside the first, whose parts have to be
 * added up. Only kernels that cut several values into tiles have these. */
extern const char cover_share[];
extern const char cover_parts[];

/* Adds these and what they are computed from, `elements` per block among it, for `count` candidates
 * (`chosen` are their indices; NULL: all). A reader of the tuned INI may refuse them:
 * cover_entry_check(). */
void cover_figures_add(struct cover_entry *cover, const struct cover_session *session,
                       const size_t *chosen, size_t count);

#endif
