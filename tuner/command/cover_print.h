/* What `autotune cover` reports, on standard output and as a page. */
#ifndef AUTOTUNE_COVER_PRINT_H
#define AUTOTUNE_COVER_PRINT_H

#include "base/error.h"
#include "cover/session.h"
#include "record/tuned_file.h"

void cover_print(const struct cover_session *session);

/* Writes the page about it: what each nominee loses at each size, what is chosen over the range, and the loss for
 * each number of configurations. `entry` has the cover. Returns 0 or ERROR_RECORD. */
int cover_print_page(const struct cover_session *session, const struct tuned_entry *entry,
                     const char *path, struct error *error);

#endif
