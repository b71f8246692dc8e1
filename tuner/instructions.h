/*
 * The instructions of every variant of a plan: what its cubin, as it lies in the cache, disassembles
 * to (see sass.h). Static mode's --sass.
 */
#ifndef AUTOTUNE_INSTRUCTIONS_H
#define AUTOTUNE_INSTRUCTIONS_H

#include "error.h"
#include "plan.h"
#include "pool.h"

/*
 * Counts them, of the main launch's kernel, into the results that were compiled; variants that share
 * a binary are disassembled once. Returns 0; ERROR_DEVICE without a disassembler; ERROR_RECORD where
 * it, or the cache, fails; ERROR_INTERRUPTED; or the template's fault.
 */
int instructions_count(struct plan *plan, struct pool *pool, struct error *error);

#endif
