/*
 * Static mode: every variant of a plan is compiled for an architecture, and its registers, spills,
 * shared memory and theoretical occupancy go into the study. Nothing is run.
 */
#ifndef AUTOTUNE_INSPECT_H
#define AUTOTUNE_INSPECT_H

#include "error.h"
#include "plan.h"
#include "pool.h"
#include "progress.h"
#include "record.h"
#include "timings.h"

/* What all plans of a run share. */
struct inspection {
    struct pool *pool;
    struct record *record;
    struct progress *progress;
    struct timings *timings;
};

/* What became of a compiled variant, by its figures alone; also the first step of measuring it.
 * `*go_on` says that nothing speaks against running it. Otherwise the variant is concluded. */
int inspect_variant(struct plan *plan, size_t index, bool *go_on, struct error *error);

/* The compiler's first error, or how its worker ended. */
void inspect_compile_reason(const struct compile_job *job, char *reason, size_t size);

/* Returns 0 with the study complete, ERROR_INTERRUPTED, or the template's or the record's fault. */
int inspect_plan(struct inspection *inspection, struct plan *plan, struct error *error);

#endif
