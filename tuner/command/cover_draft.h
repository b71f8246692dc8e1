/*
 * A tuned INI's entry for a session's cover, as far as it is known before there is a rule: kernel,
 * GPU, ranges, configurations.
 */
#ifndef AUTOTUNE_COVER_DRAFT_H
#define AUTOTUNE_COVER_DRAFT_H

#include "command/cover_session.h"
#include "record/cover_entry.h"
#include "record/tuned_file.h"

#include <stddef.h>

/* Release it with tuned_entry_release(). */
void cover_draft_begin(struct tuned_entry *entry, const struct cover_session *session);

/* Adds a candidate as the next configuration, with the figures of its main launch. */
void cover_draft_configuration(struct cover_entry *cover, const struct cover_session *session,
                               size_t candidate);

#endif
