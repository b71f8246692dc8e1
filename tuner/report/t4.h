/*
 * Studies in T4, the results format of the auto-tuning community: version 1.0.0 of the schema, as
 * Kernel Tuner has it (tests/t4/results-schema.json), with the `metadata` that
 * https://github.com/AutoTuningAssociation/autotuning_methodology added to it. All times are
 * milliseconds.
 *
 * A document is one study; several are printed one after the other, each on its own line. The times
 * for compiling and searching are not known per variant and are left out. Studies of static mode are
 * left out as well: T4 has no word for a variant that was not run.
 */
#ifndef AUTOTUNE_T4_H
#define AUTOTUNE_T4_H

#include "base/error.h"
#include "record/study.h"

#include <stddef.h>
#include <stdio.h>

/* "correct", "compile", "runtime", "timeout", "correctness" or "constraints". */
const char *t4_invalidity(enum outcome outcome);

/* Returns 0, or ERROR_USAGE if no study was measured. The caller checks the stream for errors. */
int t4_print(FILE *stream, const struct study *studies, size_t count, struct error *error);

#endif
