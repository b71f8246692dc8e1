/*
 * The runs of a cover session: measure.c decides what to measure, and these functions measure
 * it. After each run, the session's list of refuted configurations is complete, as far as the record
 * knows.
 */
#ifndef AUTOTUNE_COVER_RUNS_H
#define AUTOTUNE_COVER_RUNS_H

#include "base/error.h"
#include "cover/session.h"
#include "record/study.h"

/* Seconds since the session began. */
double cover_runs_spent_s(const struct cover_session *session);

/* Fills in the session's seeds from the tuned INI at `path`. */
void cover_runs_find_seeds(struct cover_session *session, const char *path);

/* Tunes each size as a problem of the sweep, beginning with the session's seeds, within `budget_s`; infinite:
 * no limit. The caller owns `studies`, one per size, with what has an outcome. Notes why nothing could be measured
 * at a size. Returns 0 or the run's error. */
int cover_runs_tune(struct cover_session *session, const struct sizes *sizes, double budget_s,
                    struct study *studies, struct error *error);

/* How many nominees there may be if the budget is to have time for the fewest rounds at most_sizes. A
 * size must have been tuned. */
size_t cover_runs_most_nominees(const struct cover_session *session);

/* Measures the nominees, and nothing else, in rounds: as many as the budget has time for at
 * most_sizes. */
int cover_runs_rounds(struct cover_session *session, const struct sizes *sizes,
                      struct study *studies, struct error *error);

#endif
