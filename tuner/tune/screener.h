/*
 * One GPU's part in a screening: its trials. Which of them when is decided in screening_run.c.
 */
#ifndef AUTOTUNE_SCREENER_H
#define AUTOTUNE_SCREENER_H

#include "base/error.h"
#include "base/task.h"
#include "tune/fleet.h"
#include "tune/result_batch.h"
#include "tune/screening_queue.h"
#include "tune/tuning.h"
#include "tune/tuning_job.h"
#include "tune/twins.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    struct result_batch
        *batch; /* of all stages, so that the GPU does not wait between two of them */
    struct screening_queue queue;
    struct screener *screeners; /* one for each GPU */
    size_t screener_count;
    size_t under_way;                   /* trials, on all GPUs */
    size_t active_with[GPU_TRIALS + 1]; /* so many active GPUs have so many trials */
    bool failed;                        /* on one of them: the others begin nothing any more */
    double best_ns;                     /* median of single samples so far; 0: none yet */
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
    size_t place;                    /* of the GPU in the team */
    bool active;                     /* it takes work; set by screener_activate() */
    bool joining;                    /* it is going to */
    bool finished;                   /* it found nothing left to do */
    bool ended;                      /* it does nothing any more */
    struct task *task;               /* NULL: there is only one */
    struct trial trials[GPU_TRIALS]; /* queued on the device, the oldest first */
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

void screener_activate(struct screener *screener, bool active);

/* Sends the variant to the GPU, unless its outcome is known from compiling it, or it has a twin. Errors
 * as result_batch_add(). */
int screener_begin(struct screener *screener, size_t index, struct error *error);

/* Sends one that has its result already, `variants[slot]` of team->comparison, once it is compiled
 * again, which takes no time. `*begun` is false if that is still to come. Errors as
 * tuning_job_request(). */
int screener_begin_comparison(struct screener *screener, size_t slot, bool *begun,
                              struct error *error);

/* Waits for the oldest trial, and keeps what came of it. Errors as gpu_client_trial_take() and
 * result_batch_add(). */
int screener_end(struct screener *screener, struct error *error);

/* Leaves all that is under way to other GPUs. */
void screener_return_trials(struct screener *screener);

/* ERROR_INTERRUPTED after a signal: variants that are not run do not wait for anything that would
 * notice it. */
int screening_check_interrupt(struct error *error);

#endif
