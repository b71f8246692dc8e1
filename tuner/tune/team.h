/*
 * The GPUs of one model, which screen the variants of a study together. One of them leads: it holds
 * the finals, and times of the others are compared with its times.
 */
#ifndef AUTOTUNE_TEAM_H
#define AUTOTUNE_TEAM_H

#include "base/error.h"
#include "base/event_loop.h"
#include "record/study.h"
#include "tune/fleet.h"
#include "tune/gpu_comparison.h"
#include "tune/gpu_problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A GPU that is not at hand, or was not compared in this run, and whose times are in the record. */
struct earlier_gpu {
    struct study_gpu gpu;      /* as if the GPU that it was compared with were the first */
    char lead[GPU_UUID_BYTES]; /* that GPU */
};

/* Zeroed has no GPU. The GPUs are the fleet's. */
struct team {
    struct fleet_gpu **gpus;
    size_t count;
    size_t lead;
    struct gpu_problem problem;       /* the one at hand */
    struct gpu_comparison comparison; /* on this problem */
    struct earlier_gpu *earlier;      /* on this problem: see earlier_gpus.h */
    size_t earlier_count;
    int64_t patience_ns; /* until then, on clock_ns(), a GPU that opens it is waited for at least */
};

void team_add(struct team *team, struct fleet_gpu *gpu);
void team_release(struct team *team);

/* The same as fleet_end_begin(), for the team's GPUs. */
void team_end_begin(const struct team *team);

struct fleet_gpu *team_lead(const struct team *team);

/* Says that a GPU is away for a while, which is longer if it has just come back. If it led, one that is
 * not away leads now, if there is one. `broken`: its worker has to be restarted. */
void team_leave(struct team *team, struct fleet_gpu *gpu, bool broken);

/* Whether `status`, of a call about `gpu`, may be this GPU's alone. */
bool team_is_loss(const struct fleet_gpu *gpu, int status);

/* Brings a GPU back that is away, with the problem open. If that fails, it is away for longer. Errors
 * as gpu_client_open(). */
int team_return(struct team *team, struct fleet_gpu *gpu, struct error *error);

/* Of GPUs with the problem open, one whose last call returned `status`; NULL: it is nobody's. */
struct fleet_gpu *team_culprit(const struct team *team, int status);

/* A GPU that is neither `gpu` nor away, with the problem open if there is one; NULL: there is none. */
struct fleet_gpu *team_other(const struct team *team, const struct fleet_gpu *gpu);

/* If the problem is not open on the leading GPU, another one leads on which it is. */
void team_choose_lead(struct team *team);

/* Opens the problem on all GPUs at the same time, and waits for the first one. The others are to join:
 * also one that fails, unless all do. See gpu_client_open(), also for `*empty_ns` and errors. */
int team_open(struct team *team, struct event_loop *loop, const struct gpu_problem *problem,
              double *empty_ns, struct error *error);

/* Waits until `until_ns` for a GPU that opens the problem; other tasks may make it return earlier.
 * Returns 1 if there is nothing to wait for: team_join() now; 0; or an error of event_loop_step(). */
int team_await(struct event_loop *loop, struct fleet_gpu *gpu, int64_t until_ns,
               struct error *error);

/* Opens the problem at hand on a GPU, if it is not open yet. Errors as gpu_client_open(). */
int team_join(const struct team *team, struct fleet_gpu *gpu, struct error *error);

/* Puts into study->gpus what is known of the team's GPUs, the leading one first, and of earlier ones;
 * nothing if there is only one. */
void team_describe(const struct team *team, struct study *study);

/* The same after a comparison on the GPU at that place alone: with many GPUs, it takes much less time. */
void team_describe_one(const struct team *team, size_t place, struct study *study);

/* What study->gpus says of a GPU; NULL: nothing. */
struct study_gpu *team_find(const struct fleet_gpu *gpu, struct study *study);

/* What was seen on all GPUs while the problem was open. */
struct gpu_conditions team_conditions(const struct team *team);

/* Whether a worker did not finish making expected results: gpu_client_not_prepared(). */
bool team_not_prepared(const struct team *team);

#endif
