/* What `autotune cover` prints on standard output. */
#ifndef AUTOTUNE_COVER_PRINT_H
#define AUTOTUNE_COVER_PRINT_H

#include "command/cover_session.h"

void cover_print(const struct cover_session *session);

#endif
