/*
 * Decides what to measure for a cover, and has it measured:
 *
 *     cover_session_init
 *     cover_measure
 *     cover_session_release, also after an error
 *
 * First some sizes are tuned, and the resulting candidates are measured at all of them; then come
 * further sizes, where it is least certain which configuration is the fastest. What the record has is not measured again.
 */
#ifndef AUTOTUNE_COVER_MEASURE_H
#define AUTOTUNE_COVER_MEASURE_H

#include "base/error.h"
#include "cover/session.h"

/*
 * Measures until the sizes suffice or the budget is spent, and selects the configurations. Returns 0;
 * ERROR_NOTHING_VALID if nothing could be measured at any size; ERROR_INTERRUPTED; or the error of a
 * run.
 */
int cover_measure(struct cover_session *session, struct error *error);

#endif
