/*
 * The screening: a few samples of every variant whose outcome is not known, in shuffled order, as
 * its cubin comes from the compiler; in batches if it is short. Then, if more could still win than
 * the finals hold, a closer look at these. If a variant has been disqualified since, those that got fewer
 * samples because of it get the rest.
 */
#ifndef AUTOTUNE_SCREENING_H
#define AUTOTUNE_SCREENING_H

#include "base/error.h"
#include "tune/tuning.h"
#include "tune/tuning_job.h"

/* Returns 0 with every variant concluded; ERROR_INTERRUPTED, or what makes going on pointless. */
int screening_hold(struct tuning *tuning, struct tuning_job *job, struct error *error);

#endif
