/*
 * The making of a cover:
 *
 *     cover_session_init
 *     cover_measure
 *     cover_session_release, also after an error
 *
 * Some sizes are tuned, and the resulting nominees are measured at all sizes. What the record has is not measured again.
 * The session has what is known meanwhile: the sizes, their studies, the
 * nominees and the cover so far. A size has up to two studies:
 *
 * - tuned: like any problem of a sweep; in the record, it has the kernel's name;
 * - rounds: only the nominees, which did well at some size, measured in turn, round after round;
 *   in the record, the kernel's name is then NAME.cover.
 */
#ifndef AUTOTUNE_COVER_SESSION_H
#define AUTOTUNE_COVER_SESSION_H

#include "base/error.h"
#include "cover/nominees.h"
#include "cover/problem_range.h"
#include "cover/selection.h"
#include "record/study.h"
#include "record/tuned_file.h"
#include "tune/run.h"

#include <stddef.h>
#include <stdint.h>

/* The members are for reading. */
struct cover_session {
    struct run_options options;  /* of every sweep; `limits` are not used */
    struct run run;              /* of all sweeps */
    const char *config;          /* the sweep */
    const char *text;            /* of it, when the run started */
    struct sweep_request source; /* that it was opened with */
    struct sweep_limits limits;  /* of all runs together; 0: none */
    int64_t begin_ns;
    const char *results;    /* the record's folder */
    const char *tuned_path; /* of the tuned INI */
    const char *kernel;     /* its name in the sweep */
    char *rounds_kernel;    /* NAME.cover */
    struct problem_range range;
    size_t configurations; /* to be shipped, at most */
    size_t most_sizes;     /* to be measured */

    struct sizes sizes;    /* in order: the same sizes are the same session */
    struct study *tuned;   /* of each size; no results: only the nominees are measured there */
    struct study *rounds;  /* likewise; no results: not measured yet */
    struct sizes left_out; /* nothing could be measured there */
    size_t refused_count;  /* of these, not for lack of time */
    struct error refusal;  /* the first reason */
    struct nominees nominees;
    struct nominees refuted; /* wrong, crashed or hung at some size of the range: never shipped */
    char **refutations;      /* of each: "wrong_result for n=1024: ...", the least n */
    /* of covers in the tuned INI, for other GPUs or of an earlier session: what a search tries first */
    struct nominees seeds;
    double rounds_s; /* what the rounds at a size took, on average */

    double *times_ns;     /* [nominee * sizes + size], from the rounds */
    struct losses losses; /* from the fastest nominee at each size */
    struct selection selection;
};

/* `kernel` is of `sweep`, which outlives the session, as `source` does, and states a range. Returns 0, or ERROR_CONFIG if
 * other problem values are ambiguous. */
int cover_session_init(struct cover_session *session, const struct sweep *sweep,
                       const struct sweep_request *source, const struct sweep_kernel *kernel,
                       const struct run_options *run, struct error *error);

/* Adds a size, which is new, with its study, which may be empty and is taken over. */
void cover_session_add(struct cover_session *session, const int64_t *size, struct study study);

/* Notes that nothing can be measured at a size. */
void cover_session_leave_out(struct cover_session *session, const int64_t *size);

/* Of any size that was tuned: the GPU, the kernel and the versions. NULL if there is none. (The study of a
 * size's rounds has another kernel's name.) */
const struct study *cover_session_study(const struct cover_session *session);

void cover_session_forget_refuted(struct cover_session *session);

void cover_session_release(struct cover_session *session);

/*
 * Measures until all sizes are measured or the budget is spent, and selects the configurations. Returns 0;
 * ERROR_NOTHING_VALID if nothing could be measured at any size; ERROR_INTERRUPTED; or the error of a
 * run.
 */
int cover_measure(struct cover_session *session, struct error *error);

/* --- the runs. After each one, the session's list of refuted configurations is complete, as far as the record knows --- */

/* Seconds since the session began. */
double cover_runs_spent_s(const struct cover_session *session);

/* Fills in the session's seeds from the tuned INI at `path`. */
void cover_runs_find_seeds(struct cover_session *session, const char *path);

/* Tunes each size as a problem of the sweep, beginning with the session's seeds, within `budget_s`; infinite:
 * no limit. The caller owns `studies`, one per size, with what has an outcome. Notes why nothing could be measured
 * at a size. Returns 0 or the run's error. */
int cover_runs_tune(struct cover_session *session, const struct sizes *sizes, double budget_s,
                    struct study *studies, struct error *error);

/* How many nominees there may be if the budget is to have time for the fewest rounds at most_sizes. A
 * size must have been tuned. */
size_t cover_runs_most_nominees(const struct cover_session *session);

/* Measures the nominees, and nothing else, in rounds: as many as the budget has time for at
 * most_sizes. */
int cover_runs_rounds(struct cover_session *session, const struct sizes *sizes,
                      struct study *studies, struct error *error);

/* --- the cover as an entry of the tuned INI --- */

/* Checks before anything is measured that the range and the constraints can be written: their names and
 * the length of their lines. Returns 0, or ERROR_CONFIG at the line of `cover` in the sweep. */
int cover_entry_check(const struct cover_session *session, struct error *error);

/* The estimates of the session's nominees, [nominee * sizes + size], as the cover will have them; 1 if the
 * template has none. A new array. */
double *cover_entry_estimates(const struct cover_session *session);

/* The entry, whose cover is read back from the lines that it consists of. Returns 0 or ERROR_CONFIG; release
 * it with tuned_entry_release() in any case. */
int cover_entry_make(const struct cover_session *session, struct tuned_entry *entry,
                     struct error *error);

#endif
