/* What all jobs of a run share, and the steps that screening and finals have in common. */
#ifndef AUTOTUNE_TUNING_H
#define AUTOTUNE_TUNING_H

#include "base/error.h"
#include "compile/compile_pool.h"
#include "record/record.h"
#include "tune/budget.h"
#include "tune/compile_ahead.h"
#include "tune/device_client.h"
#include "tune/progress.h"
#include "tune/race.h"
#include "tune/team.h"
#include "tune/tuning_job.h"

#include <stdbool.h>
#include <stddef.h>

/* Everything is borrowed from the run. */
struct tuning {
    struct compile_pool *pool;
    struct compile_ahead *ahead;
    struct event_loop *loop;
    struct team *team;
    struct record *record;
    struct compile_job *support; /* the tuner's own kernels */
    struct progress *progress;
    struct timings *timings;
    struct race_rules rules;
    double launch_timeout_s;
    struct allowance allowance; /* of the job at hand */
    /* Called before a job's finals, and may change the rules; NULL: not called */
    int (*before_finals)(void *user, const struct tuning_job *job, struct error *error);
    /* Something that the user should know; NULL: nobody is told */
    void (*notice)(void *user, const struct error *notice);
    void *user; /* of both */
};

/*
 * A variant whose single runs have a median below TUNING_SHORT_NS is sampled in batches. Times of
 * batches and of single runs do not compare, because a single run's time includes what it costs to
 * start it. So once one variant of a problem is batched, all below TUNING_COMPARABLE_NS are; what
 * is above that is at least twice as slow.
 */
#define TUNING_SHORT_NS 10000.0
#define TUNING_COMPARABLE_NS (2 * TUNING_SHORT_NS)

/* The GPU that holds the finals. */
struct device_client *tuning_client(const struct tuning *tuning);

/* Tells the user of a GPU: "GPU 2 (GPU-…) failed: REASON; the others take over its work". */
void tuning_notice(const struct tuning *tuning, const struct fleet_gpu *gpu, const char *what,
                   const char *reason, const char *consequence);

/* Computes result->time from its samples. */
void tuning_summarise(struct result *result);

/* A result as the race sees it; without samples if it was not measured. */
struct contender tuning_contender(const struct result *result, size_t order);

/* A new array that marks the variants that could still win by the samples they have, at most
 * `most`; `*count` is how many. */
bool *tuning_choose(const struct tuning *tuning, const struct study *study, unsigned most,
                    size_t *count);

#endif
