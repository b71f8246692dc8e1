/*
 * How much a run may spend, what of it each job gets, and when each stage of a job has to end so that
 * the ones after it have their time: whatever the budget, the finals are held.
 */
#ifndef AUTOTUNE_BUDGET_H
#define AUTOTUNE_BUDGET_H

#include "template/sweep.h"
#include "tune/race.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The budget of a run, or of a kernel, is shared among the problems that are still to be tuned. */

struct run_limits {
    struct sweep_limits asked; /* on the command line: they replace those of the sweep */
    const struct sweep *sweep;
    int64_t begin_ns;                  /* of the run, on clock_ns() */
    const struct sweep_kernel *kernel; /* being tuned, since … */
    int64_t kernel_begin_ns;
};

/* What limits each of a kernel's problems; zeros: nothing does, and all variants are tried. */
struct sweep_limits run_limits_of(const struct run_limits *limits,
                                  const struct sweep_kernel *kernel);

/*
 * When the tuning of a kernel's problem that begins at `now_ns` has to end; 0: any time.
 * `run_left` is the number of problems to be tuned from now on, this one included, and
 * `kernel_left` that of this kernel's. Jobs are asked about in the order of their kernels.
 */
int64_t run_limits_end_ns(struct run_limits *limits, const struct sweep_kernel *kernel,
                          int64_t now_ns, size_t run_left, size_t kernel_left);

/*
 * The time that a job may take. What the finals will cost is estimated from the trials of the fastest
 * variant so far, since those that reach the finals are about as fast.
 */

enum { ALLOWANCE_LOOK = 64 }; /* variants that get a closer look before the finals, at most */

/* Zeroed is no limit. Times are on clock_ns(). */
struct allowance {
    int64_t begin_ns;
    int64_t end_ns;    /* 0: no limit */
    int64_t last_ns;   /* as long as nothing was measured, the end */
    double fastest_ns; /* the fastest variant so far; 0: none was measured yet */
    double trial_ns;   /* what loading, verifying and sampling it took */
    double load_ns;    /* of that, loading it, which is done again for most rounds of the finals */
    double sample_ns;  /* and one sample */
    double data_ns;    /* making the data that the finalists are verified on once more */
};

/* An allowance from `begin_ns` to `end_ns`; if nothing was measured by then, to `last_ns`. */
void allowance_begin(struct allowance *allowance, int64_t begin_ns, int64_t end_ns,
                     int64_t last_ns);

/* When the job is over, or EVENT_NEVER. */
int64_t allowance_end(const struct allowance *allowance);

/* A trial with `samples` samples of a variant that takes `median_ns`: what it took to load and verify
 * it, and for the samples. */
void allowance_note(struct allowance *allowance, double median_ns, double load_ns, double verify_ns,
                    double measure_ns, size_t samples);

/* When no further variant should be tried, or EVENT_NEVER. */
int64_t allowance_search_end(const struct allowance *allowance);

/* When the closer look at the best should end, or EVENT_NEVER. */
int64_t allowance_look_end(const struct allowance *allowance);

/* `rules`, which are complete, with as many finalists and rounds as there is time for from `now_ns`
 * on: at least two finalists and one round. */
struct race_rules allowance_rules(const struct allowance *allowance, struct race_rules rules,
                                  int64_t now_ns);

/* Whether enough time is left after finals that took `finals_ns` to try more variants and hold
 * others. */
bool allowance_has_more(const struct allowance *allowance, int64_t now_ns, int64_t finals_ns);

#endif
