/*
 * What screening and finals share: keeping a result, and choosing who could still win.
 */
#ifndef AUTOTUNE_TUNE_STEP_H
#define AUTOTUNE_TUNE_STEP_H

#include "base/error.h"
#include "tune/race.h"
#include "tune/tune.h"
#include "tune/tuning_job.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * A variant whose single samples' median is below TUNE_SHORT_NS is sampled in batches. Figures of
 * batches and of single runs do not compare (those of single runs have all that it costs to start
 * one in them), so once one variant of a problem is batched, all below TUNE_ALIKE_NS are: what is
 * above is twice as slow as that one.
 */
#define TUNE_SHORT_NS 10000.0
#define TUNE_ALIKE_NS (2 * TUNE_SHORT_NS)

/* Puts a variant's result into the record; `phase` is record_result()'s. */
int tune_keep(struct tuning *tuning, struct tuning_job *job, size_t index, const char *phase,
              struct error *error);

/* result->time from its samples. */
void tune_summarise(struct result *result);

/* A result as the race sees it; without samples where it is not measured. */
struct contender tune_contender(const struct result *result, size_t order);

/* Those who could still win by the samples they have, at most `most`, marked in a new array. */
bool *tune_choose(const struct tuning *tuning, const struct study *study, unsigned most,
                  size_t *count);

#endif
