/*
 * A plan: what is to be done for one kernel on one problem. It holds the study that will come of
 * it, and for each of its results the compile job and whether its outcome is known already, from
 * this run or from the record.
 */
#ifndef AUTOTUNE_PLAN_H
#define AUTOTUNE_PLAN_H

#include "error.h"
#include "figures.h"
#include "gpu.h"
#include "pool.h"
#include "study.h"
#include "sweep.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan {
    const struct sweep_kernel *kernel;
    const struct bindings *problem;
    struct bindings fixed; /* problem values and device attributes */
    struct study study;
    struct compile_job **jobs; /* of study.results[i]; NULL where not requested */
    bool *known;               /* study.results[i] has its outcome */
    size_t known_count;
    struct compile_job
        *reference; /* the source with its defaults; NULL where no reference needs it */
    int64_t record_id;
    bool refused; /* there is no room for it in the device's memory */
};

/*
 * Starts the plan: the study's head, from the sweep and the environment (copied). No results yet.
 */
void plan_init(struct plan *plan, const struct sweep_kernel *kernel, const struct bindings *problem,
               const struct environment *environment);
void plan_release(struct plan *plan);

/*
 * Enumerates the space. Results that plan->study has already (from the record) are kept where the
 * space has them and are known; the others are dropped. Returns 0 or ERROR_CONFIG where a
 * constraint fails or the space has more than 10^7 variants after constraints.
 */
int plan_enumerate(struct plan *plan, struct error *error);

/* Whether nothing is left to do: every variant known, and a stored verdict on just these. */
bool plan_is_complete(const struct plan *plan);

/* ERROR_MEMORY where the problem is larger than all of the GPU's memory. What is free of it, the
 * device worker finds out. */
int plan_check_memory(const struct plan *plan, struct error *error);

/* Requests the compile jobs of the variants that are not known, and of the reference. */
int plan_compile(struct plan *plan, struct pool *pool, struct error *error);

/* Requests the compile job of one variant, known or not. */
int plan_request(struct plan *plan, struct pool *pool, size_t index, struct error *error);

/* What the figures of a variant are made of; its compile job must have been requested. */
struct figures_source plan_figures_source(const struct plan *plan, size_t index);

/* Ends a variant: stores its outcome with a copy of `reason` (NULL or "": none). */
void plan_conclude(struct plan *plan, size_t index, enum outcome outcome, const char *reason);

#endif
