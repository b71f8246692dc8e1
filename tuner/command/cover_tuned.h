/* A session's cover as an entry of the tuned INI. */
#ifndef AUTOTUNE_COVER_TUNED_H
#define AUTOTUNE_COVER_TUNED_H

#include "base/error.h"
#include "command/cover_session.h"
#include "record/tuned_file.h"

/* The entry; release it with tuned_entry_release(). */
void cover_tuned_entry(const struct cover_session *session, struct tuned_entry *entry);

/* Takes the best option that fits into the tuned INI. Sets `no_room` to why a better one does not; its
 * message is empty if none is better. */
void cover_tuned_fit(struct cover_session *session);

/* Writes the cover into the session's tuned INI, in place of an earlier one. Returns 0, or
 * ERROR_CONFIG or ERROR_RECORD. */
int cover_tuned_write(const struct cover_session *session, struct error *error);

#endif
