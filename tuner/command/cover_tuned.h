/*
 * A session's cover as an entry of the tuned INI, and what its rule may look at: the figures of a
 * launch are the template's expressions, provided that a reader of the tuned INI can evaluate them.
 */
#ifndef AUTOTUNE_COVER_TUNED_H
#define AUTOTUNE_COVER_TUNED_H

#include "base/error.h"
#include "command/cover_session.h"
#include "cover/rule.h"

/* Fills `features`, which is empty: values of the problem, and figures of the candidates' launches,
 * for each of the session's sizes. */
void cover_tuned_features(struct features *features, const struct cover_session *session);

/* Writes the cover into the session's tuned INI, in place of an earlier one. Returns 0, or
 * ERROR_CONFIG or ERROR_RECORD. */
int cover_tuned_write(const struct cover_session *session, struct error *error);

#endif
