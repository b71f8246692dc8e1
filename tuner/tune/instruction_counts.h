/*
 * The instructions of every variant of a job: what its cubin, as it lies in the cache, disassembles
 * to (see sass.h). Static mode's --sass.
 */
#ifndef AUTOTUNE_INSTRUCTION_COUNTS_H
#define AUTOTUNE_INSTRUCTION_COUNTS_H

#include "base/error.h"
#include "compile/compile_pool.h"
#include "tune/tuning_job.h"

/*
 * Counts them, of the main launch's kernel, into the results that were compiled; variants that
 * share a binary are disassembled once. Returns 0; ERROR_DEVICE without a disassembler;
 * ERROR_RECORD where it, or the cache, fails; ERROR_INTERRUPTED; or the template's fault.
 */
int instruction_counts_fill(struct tuning_job *job, struct compile_pool *pool, struct error *error);

#endif
