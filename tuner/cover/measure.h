/*
 * Decides what to measure for a cover, and has it measured:
 *
 *     cover_session_init
 *     cover_measure
 *     cover_session_release, also after an error
 *
 * Some sizes are tuned, and the resulting nominees are measured at all sizes. What the record has is not
 * measured again.
 */
#ifndef AUTOTUNE_COVER_MEASURE_H
#define AUTOTUNE_COVER_MEASURE_H

#include "base/error.h"
#include "cover/session.h"

/*
 * Measures until all sizes are measured or the budget is spent, and selects the configurations. Returns 0;
 * ERROR_NOTHING_VALID if nothing could be measured at any size; ERROR_INTERRUPTED; or the error of a
 * run.
 */
int cover_measure(struct cover_session *session, struct error *error);

#endif
