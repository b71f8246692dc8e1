/*
 * The search of a job by its variants' parameters: proposes what to try next.
 *
 *     proposer_new
 *     proposer_tell for what is known already, proposer_know
 *     proposer_next, proposer_tell, until there is nothing left or time is up
 *     proposer_free
 */
#ifndef AUTOTUNE_PROPOSER_H
#define AUTOTUNE_PROPOSER_H

#include "base/error.h"
#include "record/study.h"
#include "template/sweep.h"
#include "template/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proposer;

/* `evaluations` is how many are planned in all; 0: not known. Everything is borrowed. */
struct proposer *proposer_new(const struct sweep_kernel *kernel, const struct bindings *fixed,
                              size_t evaluations);
void proposer_free(struct proposer *proposer); /* NULL is allowed */

/* Whether the space has this variant: 1, 0, or ERROR_CONFIG if a constraint cannot be evaluated. */
int proposer_has(struct proposer *proposer, const struct bindings *parameters, struct error *error);

/* What another study has of the space's variants: search_know(). */
void proposer_know(struct proposer *proposer, const struct study *study);

/* One that was proposed and not tried: it is proposed again, before anything else. */
void proposer_take_back(struct proposer *proposer, const struct bindings *parameters);

/* Proposals end at `end_ns`, on clock_ns(); until this is called, at any time. */
void proposer_limit(struct proposer *proposer, int64_t end_ns);

/* Sets `parameters` to the next variant to try. Returns 1; 0 if none is left, or none was found in time
 * (`*late`); or an error as search_propose() does. */
int proposer_next(struct proposer *proposer, struct bindings *parameters, bool *late,
                  struct error *error);

/* A variant's time; 0 or less: it failed. */
void proposer_tell(struct proposer *proposer, const struct bindings *parameters, double time_ns);

#endif
