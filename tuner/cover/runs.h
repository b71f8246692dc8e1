/*
 * The runs of a cover session: measure.h decides what to measure, and these functions measure
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

/* Adds the sizes of the range that earlier sessions measured, according to the record: those that were
 * tuned to `tuned`, if they are not there yet, and the others to `probed`; but not more than make
 * most_sizes with those in `tuned`. Adds none if the record cannot be read; the next run then reports
 * that. */
void cover_runs_known_sizes(const struct cover_session *session, struct sizes *tuned,
                            struct sizes *probed);

/* Fills in the session's seeds from the tuned INI at `path`. */
void cover_runs_find_seeds(struct cover_session *session, const char *path);

/* Tunes each size as a problem of the sweep, beginning with the session's seeds and candidates. The
 * caller owns `studies`, one per size, with what has an outcome. Notes why nothing could be measured
 * at a size. Returns 0 or the run's error. */
int cover_runs_tune(struct cover_session *session, const struct sizes *sizes,
                    const struct sweep_limits *limits, struct study *studies, struct error *error);

enum { COVER_FEWEST_ROUNDS = 4 };

/* How many nominees there may be if the budget is to have time for the fewest rounds at most_sizes. A
 * size must have been tuned. */
size_t cover_runs_most_nominees(const struct cover_session *session);

/* Measures the nominees, and nothing else, in rounds: as many as the budget has time for at
 * most_sizes, and most_rounds. Sets round_count. */
int cover_runs_rounds(struct cover_session *session, const struct sizes *sizes,
                      struct study *studies, struct error *error);

#endif
