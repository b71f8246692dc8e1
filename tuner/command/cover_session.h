/*
 * Measures what a cover is computed from, in two kinds of runs:
 *
 * - tuning: each size is tuned like any problem of a sweep; its study is in the record under the
 *   kernel's name;
 * - rounds: the candidates, those that did well at some size, are measured at every size, all in
 *   turn, round after round; in the record, the kernel's name is then NAME/cover.
 *
 * Between them it decides which sizes to measure next. What the record has is not measured again.
 *
 *     cover_session_init
 *     cover_session_measure
 *     cover_session_release, also after an error
 */
#ifndef AUTOTUNE_COVER_SESSION_H
#define AUTOTUNE_COVER_SESSION_H

#include "base/error.h"
#include "command/command.h"
#include "cover/cover.h"
#include "cover/losses.h"
#include "cover/nominees.h"
#include "cover/problem_range.h"
#include "tune/run.h"

#include <stddef.h>
#include <stdint.h>

/* The members are for reading. */
struct cover_session {
    struct run_options run;                /* of every run; `limits` are not used */
    const struct command_options *options; /* what to load */
    struct sweep_limits limits;            /* of all runs together; 0: none */
    int64_t begin_ns;
    const char *results; /* the record's folder */
    const char *kernel;  /* its name in the sweep */
    char *rounds_kernel; /* NAME/cover */
    struct problem_range range;
    size_t configurations; /* to be shipped, at most */

    struct sizes sizes;
    struct study *tuned;   /* of each size */
    struct study *rounds;  /* likewise; no results: not measured yet */
    size_t *in_rounds;     /* how many candidates there were then */
    struct sizes left_out; /* nothing could be measured there */
    struct nominees candidates;
    double tuning_s, rounds_s; /* what a size took, on average */

    double *times_ns; /* [candidate * sizes + size], from the rounds */
    struct losses losses;
    struct features features;
    struct cover cover;
};

/* `kernel` is of `sweep`, which outlives the session, and states a range. Returns 0, or ERROR_CONFIG if
 * other problem values are ambiguous. */
int cover_session_init(struct cover_session *session, const struct sweep *sweep,
                       const struct sweep_kernel *kernel, const struct command_options *options,
                       const struct run_options *run, struct error *error);

/*
 * Measures until the sizes suffice or the budget is spent, and computes the cover. Returns 0;
 * ERROR_NOTHING_VALID if nothing could be measured at any size; ERROR_INTERRUPTED; or the error of a
 * run.
 */
int cover_session_measure(struct cover_session *session, struct error *error);

void cover_session_release(struct cover_session *session);

#endif
