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
#include "template/sweep.h"
#include "tune/run_state.h"

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
