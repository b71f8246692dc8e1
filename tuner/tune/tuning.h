/*
 * Tuning one job on a GPU: every variant is loaded, verified and screened as soon as it is
 * compiled; the variants that could still win are measured in the finals; the verdict goes into the
 * job's study. Everything is recorded as it happens, so a run that was stopped resumes where it
 * was. This is what the jobs of a run share, and their steps.
 */
#ifndef AUTOTUNE_TUNING_H
#define AUTOTUNE_TUNING_H

#include "base/error.h"
#include "compile/compile_pool.h"
#include "record/record.h"
#include "tune/budget.h"
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
    /* In static mode: time of the coordinator, without waiting for the compiler, and variants */
    int64_t busy_ns;
    size_t checked;
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

/* --- tune_job.c --- */

/* Requests the first variants that a search proposes by `end_ns` (on clock_ns()), so that they are
 * compiled by the time that tune_job() wants them. */
int tune_job_prepare(struct tuning_job *job, int64_t end_ns, struct error *error);

/*
 * Returns 0 with the study complete (and a winner, if any variant was valid), or not complete if
 * time ran out before a search found anything valid; ERROR_INTERRUPTED;
 * ERROR_MEMORY if this problem does not fit on the GPU, though the next may; or an error that ends
 * the run: a fault in the template, a worker that cannot be started, the record.
 */
int tune_job(struct tuning *tuning, struct tuning_job *job, struct error *error);

/* Requests the compile job of the tuner's own kernels for an architecture. */
int tune_job_request_support(struct compile_pool *pool, const char *arch,
                             struct compile_job **compile, struct error *error);

/* --- screening.c --- */

/*
 * A few samples of every variant whose outcome is not known, in shuffled order, as its cubin comes from the
 * compiler; in batches if it is short. Then, if more could still win than the finals hold, a closer look at
 * these. If a variant has been disqualified since, those that got fewer samples because of it get the rest.
 * Returns 0 with every variant concluded; ERROR_INTERRUPTED, or what makes going on pointless.
 */
int screening_hold(struct tuning *tuning, struct tuning_job *job, struct error *error);

/* --- finals.c --- */

/* The variants that could still win are measured in interleaved rounds until race_judge() decides, and
 * verified once more. A finalist that fails now is out, with that outcome. Returns 0 with the study's winner
 * set, unless no finalist is left; or an error, as screening_hold(). */
int finals_hold(struct tuning *tuning, struct tuning_job *job, struct error *error);

/* --- static_check.c --- */

/* Decides what can be decided without running a compiled variant: the first step of measuring it, and all of
 * static mode. True if it should run; otherwise it is concluded. */
bool static_check_variant(struct tuning_job *job, size_t index);

/* The compiler's first error, or how its worker ended. */
void static_check_compile_reason(const struct compile_job *compile, char *reason, size_t size);

/* Variants of each job that are compiled and checked before all others: from them, the time left is
 * estimated. */
enum { STATIC_SAMPLE = 16 };

/* Static mode: checks the variants of job->order, whose registers, spills, shared memory and theoretical
 * occupancy go into the study: a sample, and in a second call the rest, with which the study is
 * complete. Both return 0, ERROR_INTERRUPTED, or the template's or the record's fault. */
int static_check_sample(struct tuning *tuning, struct tuning_job *job, struct error *error);
int static_check_rest(struct tuning *tuning, struct tuning_job *job, struct error *error);

#endif
