/*
 * The finals: those who could still win are measured in interleaved rounds until race_judge() decides, and verified
 * once more. A finalist that fails now loses its place and keeps that outcome.
 */
#ifndef AUTOTUNE_FINALS_H
#define AUTOTUNE_FINALS_H

#include "base/error.h"
#include "tune/tuning.h"
#include "tune/tuning_job.h"

/* Returns 0 with the study's winner set, unless no finalist is left. Otherwise as screening_hold(). */
int finals_hold(struct tuning *tuning, struct tuning_job *job, struct error *error);

#endif
