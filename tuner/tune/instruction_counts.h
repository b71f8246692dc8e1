/*
 * The instructions of a variant, from its compile job. Static mode's --sass; the compile pool counts
 * them (compile_pool_options.instructions).
 */
#ifndef AUTOTUNE_INSTRUCTION_COUNTS_H
#define AUTOTUNE_INSTRUCTION_COUNTS_H

#include "base/error.h"
#include "tune/tuning_job.h"

#include <stddef.h>

/* Puts the counts of the main launch's kernel into the variant's result, if it was compiled. Its
 * compile job must be done. Returns 0, or ERROR_CONFIG if the template's launches fail. */
int instruction_counts_fill(struct tuning_job *job, size_t index, struct error *error);

#endif
