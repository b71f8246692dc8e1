/*
 * The launch plan of a variant: every launch of one run in order, with loops unrolled, conditions
 * decided, and grid, block and arguments as numbers. It only evaluates the template's expressions;
 * the caller provides a lookup for registers and occupancy, from the driver or from the compiler's
 * log and the occupancy calculator.
 */
#ifndef AUTOTUNE_LAUNCH_PLAN_H
#define AUTOTUNE_LAUNCH_PLAN_H

#include "base/error.h"
#include "template/expression.h"
#include "template/launch_attributes.h"
#include "template/step_arguments.h"
#include "template/template.h"
#include "template/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Resource usage of a compiled kernel. */
struct kernel_info {
    int registers; /* per thread */
    int64_t spill_bytes;
    int64_t stack_bytes;
    int64_t static_shared_bytes;
    int max_threads_per_block; /* limited by launch bounds and registers; 0: not known */
};

struct step;

/* Callbacks that look up a compiled kernel; all get `user`, and return 0 or an error. */
struct kernel_lookup {
    void *user;
    int (*info)(void *user, const char *entry, struct kernel_info *info, struct error *error);
    int (*blocks_per_sm)(void *user, const char *entry, int block_threads,
                         int64_t dynamic_shared_bytes, int *blocks, struct error *error);
    /* How many clusters of the step the GPU holds at once. NULL: not known without a GPU, because it
     * depends on how the SMs are grouped. */
    int (*active_clusters)(void *user, const struct step *step, int *clusters, struct error *error);
};

struct step {
    const struct launch *launch; /* the template's */
    const char *entry;
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared_bytes;
    bool cooperative;
    struct launch_attributes attributes;
    struct step_argument *arguments;
    size_t argument_count;
};

struct launch_plan {
    struct step *steps;
    size_t step_count;
    size_t main_step;        /* the step that reports describe */
    struct kernel_info main; /* its kernel */
    int main_blocks_per_sm;
    bool not_resident;     /* a launch that must be co-resident has more blocks than fit */
    char residency[160];   /* if not_resident, which launch and why */
    struct bindings names; /* NAME_grid and NAME_block of every launch; 0 if inactive */
};

/*
 * Evaluates all launches of the template. `scope` binds parameters, problem values and device
 * attributes. A launch with a grid of 0 blocks or no threads has nothing to do and is left out.
 * Returns 0, ERROR_CONFIG if an expression fails, an extent is negative or above 2^31 - 1, a block has
 * more threads than that or a grid more than 2^63 - 1 blocks, or the lookup's error. It
 * does not check the GPU's and the kernel's limits: compile/launch_limits.h does.
 */
int launch_plan_make(struct launch_plan *launch_plan, const struct template *template,
                     const struct scope *scope, const struct kernel_lookup *lookup,
                     struct error *error);

/* Makes the plan of a helper (helpers.h), which has one step, or none if it has nothing to do. */
int launch_plan_helper(struct launch_plan *launch_plan, const struct template *template,
                       const struct launch *helper, const struct scope *scope, struct error *error);

/* The bytes moved and operations done by the template's metrics; 0 for one that it does not state.
 * Returns 0, or ERROR_CONFIG if an expression fails or its value is negative or not finite. */
int launch_plan_metrics(const struct launch_plan *launch_plan, const struct template *template,
                        const struct scope *scope, double *bytes, double *operations,
                        struct error *error);

/* Returns 0, or ERROR_CONFIG if nothing is launched, because there is then no time to measure. */
int launch_plan_check(const struct launch_plan *launch_plan, struct error *error);

void launch_plan_release(struct launch_plan *launch_plan);

/* Threads per block, blocks per grid. */
int64_t step_threads(const struct step *step);
int64_t step_blocks(const struct step *step);

#endif
