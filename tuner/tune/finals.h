/*
 * The finals: the variants that could still win are measured in interleaved rounds until
 * race_judge() decides, and verified once more. A finalist that fails now is out, with that
 * outcome.
 */
#ifndef AUTOTUNE_FINALS_H
#define AUTOTUNE_FINALS_H

#include "base/error.h"
#include "tune/tuning.h"
#include "tune/tuning_job.h"

/* Returns 0 with the study's winner set, unless no finalist is left; or an error, as
 * screening_hold(). */
int finals_hold(struct tuning *tuning, struct tuning_job *job, struct error *error);

#endif
