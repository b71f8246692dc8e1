/* What `autotune cover` reports, on standard output and as a page. */
#ifndef AUTOTUNE_COVER_PRINT_H
#define AUTOTUNE_COVER_PRINT_H

#include "base/error.h"
#include "command/cover_session.h"

void cover_print(const struct cover_session *session);

/* Writes the page about it. Returns 0 or ERROR_RECORD. */
int cover_print_page(const struct cover_session *session, const char *path, struct error *error);

#endif
