/* What a session's rule may look at: values of the problem, and figures of the candidates' launches. */
#ifndef AUTOTUNE_COVER_FEATURES_H
#define AUTOTUNE_COVER_FEATURES_H

#include "command/cover_session.h"
#include "cover/rule.h"

/* Fills `features`, which is empty, for the session's sizes and candidates. */
void cover_features_make(struct features *features, const struct cover_session *session);

#endif
