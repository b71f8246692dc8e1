/* What a session's rule chooses over its range, for the picture on its page. */
#ifndef AUTOTUNE_COVER_CHART_H
#define AUTOTUNE_COVER_CHART_H

#include "base/error.h"
#include "command/cover_session.h"
#include "report/cover_picture.h"

/* Release the picture, also after an error, which is that of cover_entry_section(). Further problem
 * values than three have the middle of their ranges. */
int cover_chart(const struct cover_session *session, struct cover_picture *picture,
                struct error *error);

#endif
