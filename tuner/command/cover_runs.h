/* The runs of a cover_session: it decides what to measure, these measure. */
#ifndef AUTOTUNE_COVER_RUNS_H
#define AUTOTUNE_COVER_RUNS_H

#include "base/error.h"
#include "command/cover_session.h"
#include "record/study.h"

/* Adds the sizes of the range that earlier sessions measured, by the record; none if it cannot be
 * read, which the next run then reports. */
void cover_runs_known_sizes(const struct cover_session *session, struct sizes *sizes);

/* Fills in the session's seeds from the tuned INI at `path`. */
void cover_runs_find_seeds(struct cover_session *session, const char *path);

/* Tunes each size as a problem of the sweep, the session's seeds and candidates first. `studies`, one per
 * size, are the caller's. Returns 0 or the run's error. */
int cover_runs_tune(const struct cover_session *session, const struct sizes *sizes,
                    const struct sweep_limits *limits, struct study *studies, struct error *error);

/* Measures the candidates, and nothing else, in rounds. */
int cover_runs_rounds(const struct cover_session *session, const struct sizes *sizes,
                      struct study *studies, struct error *error);

#endif
