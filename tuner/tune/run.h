/*
 * A run: one sweep on one GPU or several, or in static mode for one architecture, from its files to
 * a record with every outcome and a tuned INI with every winner.
 *
 * Calling sequence:
 *     struct run run;
 *     run_init(&run, &options);
 *     status = run_sweep(&run, &sweep, error);
 *     if (status == 0)
 *         status = run_check_winners(&run, error);     after the studies have been reported
 *     run_release(&run);                               also after an error
 */
#ifndef AUTOTUNE_RUN_H
#define AUTOTUNE_RUN_H

#include "base/error.h"
#include "base/event_loop.h"
#include "compile/compile_pool.h"
#include "compile/cubin_cache.h"
#include "record/record.h"
#include "record/study.h"
#include "template/sweep.h"
#include "tune/budget.h"
#include "tune/fleet.h"
#include "tune/progress.h"
#include "tune/team.h"
#include "tune/tuning.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Where a run keeps its files, if that is a network file system (base/file_system.h): what is refused,
 * and what the user is told that it costs.
 */

/* ERROR_USAGE if the record in the folder `results` is or would be on a network file system, unless that
 * is `allowed`; else 0. */
int storage_check_record(const char *results, bool allowed, struct error *error);

/* Says what it costs if the record, the cache or the locks of GPUs are on a network file system: one
 * notice for each that is. */
void storage_notice(const char *results, const char *cache,
                    void (*notice)(void *user, const struct error *notice), void *user);

/* What a run is made of: its options, its groups of GPUs, and what they share. */

/* Strings are borrowed. */
struct run_options {
    const char *command;        /* as typed, for the record */
    const char *arch;           /* static mode for this architecture; NULL: measure */
    const char *tuned;          /* the tuned INI; NULL: the sweep's */
    const char *results;        /* the record's folder; NULL: the sweep's */
    struct device_list devices; /* not stated: the sweep's, or GPU 0 */
    struct nodes *nodes;        /* the machines of a cluster; NULL: only this one */
    size_t workers;             /* compile workers of each; 0: one per core */
    struct sweep_limits limits; /* instead of the sweep's and its kernels'; 0: those */
    unsigned exhaustive;        /* rounds of finals for every variant; 0: the usual finals */
    bool remeasure;             /* ignore what the record has */
    bool no_wait;               /* fail if another run is using the GPU */
    bool record_on_network;     /* the record may be on a network file system */
    bool quiet;                 /* no progress line */
    bool history;               /* a progress line that shows how the best improved */
    bool unrecorded; /* nothing is kept: neither record nor tuned INI; `part` goes with it */
    /* one of several sweeps of a run: the tuned INI is left alone, and nobody is told that there is nothing
     * to do */
    bool part;
    const struct bindings *suggestions; /* what a search tries first */
    size_t suggestion_count;

    void *user; /* passed to the callbacks */
    /* Something the user should know while the run goes on: a message, with its file and line if it
     * has any. */
    void (*notice)(void *user, const struct error *notice);
    /* The first variants all failed to compile with the message in `doubt`, and `left` more are to be
     * tried. The run goes on unless a signal ends it. NULL: nobody is asked. */
    void (*doubted)(void *user, const char *kernel, const struct compile_doubt *doubt, size_t left);
    /* A study is complete: the place to write its report. An error ends the run. NULL: nothing is done. */
    int (*study_done)(void *user, const struct study *study, struct error *error);
};

struct run;

/* GPUs of one model, which work on the same studies. Each model has its own. */
struct run_group {
    struct run *run;
    struct environment environment; /* the run's, with the GPU that leads; it owns nothing */
    struct team team;               /* without GPUs in static mode */
    struct tuning_job *jobs;        /* one for each kernel and problem; a part of the run's */
    size_t job_count;
    struct compile_ahead ahead;
    struct tuning tuning; /* without `support` if there is nothing to do */
    struct run_limits limits;
};

/* The members are for reading. */
struct run {
    struct run_options options;
    const struct sweep *sweep;
    const char *tuned;
    const char *results;
    char *cache; /* folder of the cubins */
    uint64_t cache_limit_bytes;
    struct cubin_cache_use cache_use;
    struct event_loop loop;
    struct compile_pool *pool;
    struct fleet fleet; /* without GPUs in static mode */
    struct run_group *groups;
    size_t group_count;
    struct record *record;
    struct environment environment;
    struct tuning_job *jobs; /* of all groups */
    size_t job_count;
    size_t refused_count; /* jobs that do not fit in the GPU's memory, or whose reference fails */
    struct error refusal; /* the first of them; of a failing reference if there is one */
    /* one job has found wrong what won another one, of the same code under another name */
    bool overtaken;
    struct progress progress;
    char cluster[64]; /* what it is made of; "" if it is one machine */
    struct timings timings;
    struct compile_doubt doubt;
    struct run_limits limits;
};

/* Starts the clock; nothing else runs yet. */
void run_init(struct run *run, const struct run_options *options);

/* The first two parts of run_sweep(), for a caller that looks at the jobs in between: everything up to the first
 * variant, and every job. */
int run_prepare(struct run *run, const struct sweep *sweep, struct error *error);
int run_work(struct run *run, struct error *error);

/*
 * Runs the sweep, which must outlive the run. Returns 0 when every job is complete or refused for
 * want of memory; ERROR_INTERRUPTED, saying how to go on; or the error that ended the run. What was
 * measured until then is in the record, and the best of it in the tuned INI, marked as incomplete.
 */
int run_sweep(struct run *run, const struct sweep *sweep, struct error *error);

/* After run_sweep() has returned 0: forgets its jobs, so that the run can go on with another sweep under these options,
 * whose clock starts. Devices, results and the tuned INI stay those of the first one. */
void run_next(struct run *run, const struct run_options *options);

/* 0 if every job has a valid variant; ERROR_MEMORY or the reference's error if problems were left
 * out; ERROR_NOTHING_VALID naming the first kernel and problem without one, and whether the budget
 * ended before. */
int run_check_winners(const struct run *run, struct error *error);

/* Why a job has no winner: ERROR_NOTHING_VALID. */
int run_say_no_winner(const struct tuning_job *job, struct error *error);

/* Also removes what the cubin cache has above its limit. */
void run_release(struct run *run);

/* --- run_group.c --- */

/*
 * The part of a run that the GPUs of one model do: every job of the sweep, one after the other. The
 * groups of a run work at the same time.
 */

/* Makes the group's jobs in `jobs`, which has room for all of the sweep. They stay where they are:
 * searches point to their jobs' values. Adds to `*total` how many variants are to be done, and sets
 * `*searched` if some are searched. */
int run_group_plan(struct run_group *group, struct tuning_job *jobs, size_t *total, bool *searched,
                   struct error *error);

/* Whether every job is complete. */
bool run_group_is_done(const struct run_group *group);

/* Completes the jobs on the GPUs of the group; `owner` is a struct run_group, so that this can be run
 * as a task. A job that does not fit in memory, or whose expected results cannot be made while there
 * are other jobs, is refused. Returns 0 or the error that ends the run. */
int run_group_tune(void *owner, struct error *error);

/* Completes the jobs in static mode. Errors as static_check_sample() and static_check_rest(). */
int run_group_check(struct run_group *group, struct error *error);

#endif
