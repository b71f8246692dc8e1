/*
 * What a session's rule may look at: values of the problem, figures of the candidates' launches, and
 * the terms that estimates of their times are made of. The figures of a launch are the template's
 * expressions, provided that a reader of the tuned INI can evaluate them.
 */
#ifndef AUTOTUNE_COVER_FEATURES_H
#define AUTOTUNE_COVER_FEATURES_H

#include "command/cover_session.h"

/* Fills the session's features, and its basis if there are figures of launches; if not, `no_figures` says
 * why. Features and basis are empty before. */
void cover_features_fill(struct cover_session *session);

#endif
