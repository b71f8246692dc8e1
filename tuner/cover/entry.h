/* A session's cover as an entry of the tuned INI. */
#ifndef AUTOTUNE_COVER_ENTRY_H
#define AUTOTUNE_COVER_ENTRY_H

#include "base/error.h"
#include "cover/session.h"
#include "record/tuned_file.h"

/* Checks before anything is measured that the range and the constraints can be written: their names and
 * the length of their lines. Returns 0, or ERROR_CONFIG at the line of `cover` in the sweep. */
int cover_entry_check(const struct cover_session *session, struct error *error);

/* The estimates of the session's nominees, [nominee * sizes + size], as the cover will have them; 1 if the
 * template has none. A new array. */
double *cover_entry_estimates(const struct cover_session *session);

/* The entry, whose cover is read back from the lines that it consists of. Returns 0 or ERROR_CONFIG; release
 * it with tuned_entry_release() in any case. */
int cover_entry_make(const struct cover_session *session, struct tuned_entry *entry,
                     struct error *error);

#endif
