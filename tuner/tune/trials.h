/*
 * Twins: variants of a problem with the same machine code and launches, by their run_hash. One of
 * them is run; the others are its duplicates (study_link_twins() gives them its time).
 *
 * Calling sequence of the screening:
 *     twins_init
 *     twins_wait for each variant before it is run; true: leave it out
 *     twins_conclude for each whose wait is over, in order: when nothing is running any more, or, in
 *         a search, which learns from it, at once
 *     twins_release
 *
 * The compiler decides which of the twins is run first, but the result is the first one's in the
 * sweep's order, so that the same sweep always has the same winner.
 */
#ifndef AUTOTUNE_TRIALS_H
#define AUTOTUNE_TRIALS_H

#include "base/error.h"
#include "base/task.h"
#include "tune/fleet.h"
#include "tune/tuning.h"
#include "tune/tuning_job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct twins {
    struct tuning_job *job;
    void *by_hash; /* tsearch's tree: the twin that is run */
    bool *waiting; /* by the index of a result, as far as any waits */
    size_t count;
};

/* Variants that are known, from the record, have been run. `job` must outlive the twins. */
void twins_init(struct twins *twins, struct tuning_job *job);
void twins_release(struct twins *twins);

/* Whether a compiled variant has a twin that was run, or is being run; it then waits for the result
 * of that one. */
bool twins_wait(struct twins *twins, size_t index);

/* Whether a variant waits for a result that is there. */
bool twins_is_over(struct twins *twins, size_t index);

/* Ends a variant whose wait is over, or if it comes before its twin, gives it the twin's result and
 * ends the twin. Returns the index of the duplicate. */
size_t twins_conclude(struct twins *twins, size_t index);

/*
 * The variants of a screening that no GPU has yet: those that the compiler has, and those that it is
 * done with. A search's proposals are added as they are needed.
 */

struct screening_queue {
    struct tuning *tuning;
    struct tuning_job *job;
    bool proposes;   /* the job's search, if it has one, is asked for more */
    size_t *waiting; /* for the compiler; those that were requested come first */
    size_t waiting_count;
    size_t compiled; /* how many of these, from the first on, wait no longer */
    size_t *ready;   /* compiled, the next one last */
    size_t ready_count;
    uint64_t seen; /* jobs requested plus jobs done when `ready` was last filled; 0: look again */
};

void screening_queue_release(struct screening_queue *queue);

/* Adds a variant that is to be compiled. */
void screening_queue_add(struct screening_queue *queue, size_t index);

/* Adds one that was taken and is to be tried again. Others go first: what disturbed it may not be
 * over. */
void screening_queue_return(struct screening_queue *queue, size_t index);

/* Requests what GPUs can begin soon, and asks the job's search for more. Errors as
 * compile_ahead_fill() and tuning_job_request(). */
int screening_queue_fill(struct screening_queue *queue, struct error *error);

/* Takes a variant that is compiled; false if there is none. */
bool screening_queue_take(struct screening_queue *queue, size_t *index);

bool screening_queue_is_empty(const struct screening_queue *queue);

/* Waits until something happens, at most until `until_ns` (on clock_ns()): another variant may be
 * compiled then. Errors as event_loop_step(). */
int screening_queue_wait(struct screening_queue *queue, int64_t until_ns, struct error *error);

/*
 * One GPU's part in a screening: its trials. Which of them when is decided in screening.c.
 */

/* A first sample so many times the best median gets no further ones. */
enum { SCREENER_HOPELESS = 2 };

struct screener;

/* What the GPUs share. Set the first six, and add to the queue. */
struct screening {
    struct tuning *tuning;
    struct tuning_job *job;
    size_t samples;      /* of a trial */
    double short_ns;     /* below it, batches */
    struct twins *twins; /* NULL: a closer look at variants that have samples */
    struct screening_queue queue;
    struct screener *screeners; /* one for each GPU */
    size_t screener_count;
    size_t under_way; /* trials, on all GPUs */
    bool failed;      /* on one of them: the others begin nothing any more */
    double best_ns;   /* median of single samples so far; 0: none yet */
};

struct trial {
    size_t index;  /* of the variant */
    bool compares; /* GPUs, by a variant that has its result: */
    size_t slot;   /* this one of team->comparison */
};

/* One GPU's part in a screening. */
struct screener {
    struct screening *screening;
    struct fleet_gpu *gpu;
    size_t place;                       /* of the GPU in the team */
    bool active;                        /* it takes work */
    bool joining;                       /* it is going to */
    bool finished;                      /* it found nothing left to do */
    bool ended;                         /* it does nothing any more */
    struct task *task;                  /* NULL: there is only one */
    struct trial trials[DEVICE_TRIALS]; /* queued on the device, the oldest first */
    size_t trial_count;
};

/* Keeps the duplicates whose twins have their results, and what one of them may take over from a
 * twin. Returns 0, ERROR_RECORD or ERROR_INTERRUPTED. */
int screening_keep_duplicates(struct screening *screening, struct error *error);

/* When nothing more should begin, and whether that is now. */
int64_t screening_end_ns(const struct screening *screening);
bool screening_is_over(const struct screening *screening);

/* Whether what this GPU measures should be measured by another one. */
bool screener_is_disturbed(const struct screener *screener);

/* Sends the variant to the GPU, unless its outcome is known from compiling it, or it has a twin. Errors
 * as record_result(). */
int screener_begin(struct screener *screener, size_t index, struct error *error);

/* Sends one that has its result already, `variants[slot]` of team->comparison, once it is compiled
 * again, which takes no time. `*begun` is false if that is still to come. Errors as
 * tuning_job_request(). */
int screener_begin_comparison(struct screener *screener, size_t slot, bool *begun,
                              struct error *error);

/* Waits for the oldest trial, and keeps what came of it. Errors as device_client_trial_take() and
 * record_result(). */
int screener_end(struct screener *screener, struct error *error);

/* Leaves all that is under way to other GPUs. */
void screener_return_trials(struct screener *screener);

/* ERROR_INTERRUPTED after a signal: variants that are not run do not wait for anything that would
 * notice it. */
int screening_check_interrupt(struct error *error);

#endif
