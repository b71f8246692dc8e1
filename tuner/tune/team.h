/*
 * Variants that every GPU of a team times, through the whole screening: the first ones, and then,
 * at growing intervals, the fastest so far. They say how the GPUs' times compare.
 */
#ifndef AUTOTUNE_TEAM_H
#define AUTOTUNE_TEAM_H

#include "base/error.h"
#include "base/event_loop.h"
#include "record/study.h"
#include "tune/fleet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COMPARED_MOST = 16 };

struct compared_variant {
    size_t index; /* among the study's results; SIZE_MAX: forgotten */
    double *ns;   /* on each GPU of the team; 0: not yet */
    bool *begun;  /* on each */
};

struct comparison {
    size_t gpu_count; /* 1: nothing is compared */
    size_t best;      /* the fastest variant so far */
    size_t best_gpu;  /* and where it took `best_ns` */
    double best_ns;
    struct compared_variant variants[COMPARED_MOST];
    size_t count;
    size_t measured; /* variants, in the screening so far */
    size_t next;     /* so many of them, and the next one is compared */
};

void comparison_init(struct comparison *comparison, size_t gpu_count);
void comparison_release(struct comparison *comparison);

/* One more variant was measured, on `gpu` (counted in the team). It, or the fastest so far, may be
 * compared from now on. */
void comparison_note(struct comparison *comparison, size_t index, size_t gpu, double ns);

/* A variant that `gpu` has yet to time, as an index into `variants`; false if there is none. It
 * counts as begun. */
bool comparison_next(struct comparison *comparison, size_t gpu, size_t *slot);

/* Whether there is one. */
bool comparison_has(const struct comparison *comparison, size_t gpu);

/* What came of it: its time; or negative if it is not valid there; or it is to be begun again. */
void comparison_take(struct comparison *comparison, size_t slot, size_t gpu, double ns);
void comparison_again(struct comparison *comparison, size_t slot, size_t gpu);

/* At the end of a screening, after which variants may have another index: forgets one of the variants
 * that are compared, but not its times. Returns false if all are forgotten. */
bool comparison_close(struct comparison *comparison, size_t *index);

/* Compares a GPU with the leading one; sets `compared`, `failed`, `ratio` and `spread`. */
void comparison_judge(const struct comparison *comparison, size_t gpu, size_t lead,
                      struct study_gpu *figures);

/*
 * The GPUs of one model, which screen the variants of a study together. One of them leads: it holds
 * the finals, and times of the others are compared with its times.
 */

/* Zeroed has no GPU. The GPUs are the fleet's. */
struct team {
    struct fleet_gpu **gpus;
    size_t count;
    size_t lead;
    struct opened_problem problem; /* the one at hand */
    struct comparison comparison;  /* on this problem */
    int64_t patience_ns; /* until then, on clock_ns(), a GPU that opens it is waited for at least */
};

void team_add(struct team *team, struct fleet_gpu *gpu);
void team_release(struct team *team);

struct fleet_gpu *team_lead(const struct team *team);

/* Says that a GPU takes no part in the problem any more; `lost`: nor in the rest of the run. If it led,
 * another one leads now, if there is one. */
void team_leave(struct team *team, struct fleet_gpu *gpu, bool lost);

/* Says that a GPU takes no work for a while, or that it does again. */
void team_pause(struct team *team, struct fleet_gpu *gpu);
void team_resume(struct fleet_gpu *gpu);

/* Whether `status`, of a call about `gpu`, may be this GPU's alone. */
bool team_is_loss(const struct fleet_gpu *gpu, int status);

/* Of GPUs with the problem open, one whose last call returned `status`; NULL: it is nobody's. */
struct fleet_gpu *team_culprit(const struct team *team, int status);

/* A GPU that is neither `gpu` nor away nor pauses, with the problem open if there is one; NULL: there is
 * none. */
struct fleet_gpu *team_other(const struct team *team, const struct fleet_gpu *gpu);

/* If the problem is not open on the leading GPU, another one leads on which it is. */
void team_choose_lead(struct team *team);

/* Opens the problem on all GPUs at the same time, and waits for the first one. The others are to join:
 * also one that fails, unless all do. See device_client_open(), also for `*empty_ns` and errors. */
int team_open(struct team *team, struct event_loop *loop, const struct opened_problem *problem,
              double *empty_ns, struct error *error);

/* Waits until `until_ns` for a GPU that opens the problem; other tasks may make it return earlier.
 * Returns 1 if there is nothing to wait for: team_join() now; 0; or an error of event_loop_step(). */
int team_await(struct event_loop *loop, struct fleet_gpu *gpu, int64_t until_ns,
               struct error *error);

/* Opens the problem at hand on a GPU, if it is not open yet. Errors as device_client_open(). */
int team_join(const struct team *team, struct fleet_gpu *gpu, struct error *error);

/* Puts into study->gpus what is known of the team's GPUs, the leading one first; nothing if there is only
 * one. */
void team_describe(const struct team *team, struct study *study);

/* Whether times of that GPU can be compared with the leading one's: not if another run took them, or if it
 * was lost before it was compared. */
bool team_compares(const struct team *team, const struct study *study, const char *uuid);

/* What was seen on all GPUs while the problem was open. */
struct gpu_conditions team_conditions(const struct team *team);

/* Whether a worker did not finish making expected results. */
bool team_not_prepared(const struct team *team);

#endif
