/*
 * A run: one sweep on one GPU, or in static mode for one architecture, from its files to a record
 * with every outcome and a tuned INI with every winner.
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
#include "compile/cubin_cache_limit.h"
#include "record/record.h"
#include "record/study.h"
#include "template/sweep.h"
#include "tune/compile_ahead.h"
#include "tune/gpu_client.h"
#include "tune/gpu_lock.h"
#include "tune/progress.h"
#include "tune/run_limits.h"
#include "tune/timings.h"
#include "tune/tuning_job.h"

#include <stdbool.h>
#include <stddef.h>

/* Strings are borrowed. */
struct run_options {
    const char *command;        /* as typed, for the record */
    const char *arch;           /* static mode for this architecture; NULL: measure */
    const char *tuned;          /* the tuned INI; NULL: the sweep's */
    const char *results;        /* the record's folder; NULL: the sweep's */
    int device;                 /* the GPU, counted from 0 */
    size_t workers;             /* compile workers; 0: one per core */
    struct sweep_limits limits; /* instead of the sweep's and its kernels'; 0: those */
    unsigned exhaustive;        /* rounds of finals for every variant; 0: the usual finals */
    bool remeasure;             /* ignore what the record has */
    bool no_wait;               /* fail if another run is using the GPU */
    bool instructions;          /* in static mode: count machine instructions */
    bool quiet;                 /* no progress line */
    bool history;               /* a progress line that shows how the best improved */
    bool part; /* one of several runs of a command: the tuned INI is left alone, and nobody is told
                  that there is nothing to do */
    const struct bindings *suggestions; /* what a search tries first */
    size_t suggestion_count;

    void *user; /* passed to the callbacks */
    /* Something the user should know while the run goes on: a message, with its file and line if it
     * has any. */
    void (*notice)(void *user, const struct error *notice);
    /* The first variants all failed to compile with the message in `doubt`, and `left` more are to be
     * tried. The run goes on unless a signal ends it. NULL: nobody is asked. */
    void (*doubted)(void *user, const char *kernel, const struct compile_doubt *doubt, size_t left);
    /* A study is complete: the place to write its report. An error ends the run. */
    int (*study_done)(void *user, const struct study *study, struct error *error);
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
    struct gpu_client *client; /* NULL in static mode */
    struct record *record;
    struct environment environment;
    bool gpu_assumed;        /* taken from the cache; the device worker has not confirmed it */
    struct tuning_job *jobs; /* one for each kernel and problem */
    size_t job_count;
    struct compile_ahead ahead;
    size_t refused_count; /* jobs that do not fit in the GPU's memory, or whose reference fails */
    struct error refusal; /* the first of them; of a failing reference if there is one */
    struct progress progress;
    struct timings timings;
    struct gpu_lock lock;
    struct compile_doubt doubt;
    struct compile_watch watch;
    struct run_limits limits;
};

/* Starts the clock; nothing else runs yet. */
void run_init(struct run *run, const struct run_options *options);

/*
 * Runs the sweep, which must outlive the run. Returns 0 when every job is complete or refused for
 * want of memory; ERROR_INTERRUPTED, saying how to go on; or the error that ended the run. What was
 * measured until then is in the record, and the best of it in the tuned INI, marked as incomplete.
 */
int run_sweep(struct run *run, const struct sweep *sweep, struct error *error);

/* 0 if every job has a valid variant; ERROR_MEMORY or the reference's error if problems were left
 * out; ERROR_NOTHING_VALID naming the first kernel and problem without one, and whether the budget
 * ended before. */
int run_check_winners(const struct run *run, struct error *error);

/* Why a job has no winner: ERROR_NOTHING_VALID. */
int run_say_no_winner(const struct tuning_job *job, struct error *error);

/* Also removes what the cubin cache has above its limit. */
void run_release(struct run *run);

#endif
