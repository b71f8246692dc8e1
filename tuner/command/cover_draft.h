/*
 * A tuned INI's entry for a session's cover, as far as it is known before there is a rule: kernel,
 * GPU, ranges, configurations.
 */
#ifndef AUTOTUNE_COVER_DRAFT_H
#define AUTOTUNE_COVER_DRAFT_H

#include "base/error.h"
#include "command/cover_session.h"
#include "record/cover_entry.h"
#include "record/tuned_file.h"

#include <stddef.h>
#include <stdint.h>

/* Release it with tuned_entry_release(). */
void cover_draft_begin(struct tuned_entry *entry, const struct cover_session *session);

/* Adds a candidate as the next configuration, with the figures of its main launch. */
void cover_draft_configuration(struct cover_entry *cover, const struct cover_session *session,
                               size_t candidate);

/* Adds a rule that always chooses the first configuration, and one size: a cover must have both. */
void cover_draft_complete(struct tuned_entry *entry, const struct cover_session *session,
                          const int64_t *size);

/* Whether a tuned INI can have a cover of this range, which a constraint may prevent: to be found out
 * before anything is measured. Returns 0 or ERROR_CONFIG at the sweep's line. */
int cover_draft_check(const struct cover_session *session, const char *sweep_path,
                      struct error *error);

#endif
