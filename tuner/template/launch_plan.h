/*
 * The schedule of a variant: every launch of one run in order, loops unrolled and conditions
 * decided, with geometry and arguments as numbers. Pure evaluation of the template's expressions;
 * whoever knows the compiled kernels (the driver, or the compiler's log and the occupancy
 * calculator) says how many blocks fit on an SM.
 */
#ifndef AUTOTUNE_LAUNCH_PLAN_H
#define AUTOTUNE_LAUNCH_PLAN_H

#include "base/error.h"
#include "template/expression.h"
#include "template/template.h"
#include "template/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is known of a compiled kernel. */
struct kernel_info {
    int registers; /* a thread */
    int64_t spill_bytes;
    int64_t stack_bytes;
    int64_t static_shared_bytes;
    int max_threads_per_block; /* by launch bounds and registers; 0 where not known */
};

/* Looks kernels up; `user` is passed through. Both return 0 or an error. */
struct kernel_lookup {
    void *user;
    int (*info)(void *user, const char *entry, struct kernel_info *info, struct error *error);
    int (*blocks_per_sm)(void *user, const char *entry, int block_threads,
                         int64_t dynamic_shared_bytes, int *blocks, struct error *error);
};

struct step_argument {
    bool is_buffer;
    size_t buffer;          /* index; SIZE_MAX is the reference's output */
    unsigned char bytes[8]; /* a scalar, as the kernel takes it */
};

struct step {
    size_t launch; /* index into the template's launches */
    const char *entry;
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared_bytes;
    bool cooperative;
    struct step_argument *arguments;
    size_t argument_count;
};

struct launch_plan {
    struct step *steps;
    size_t step_count;
    size_t main_step;        /* whose figures are reported */
    struct kernel_info main; /* of its kernel */
    int main_blocks_per_sm;
    bool not_resident;     /* a launch that must be co-resident has more blocks than fit */
    char residency[160];   /* which and why, where not_resident */
    struct bindings names; /* NAME_grid and NAME_block of every launch; 0 for inactive ones */
};

/*
 * Evaluates all launches of the template. `scope` binds parameters, problem and device attributes.
 * Launches without threads are left out (a grid of 0 blocks is how a template says that there is
 * nothing to do). Returns 0, or ERROR_CONFIG where an expression fails or a number is out of range
 * (negative, above 2^31 - 1 blocks, a block of more than 1024 threads is left for the driver to
 * refuse); errors of the look-ups are passed on.
 */
int launch_plan_make(struct launch_plan *launch_plan, const struct template *template,
                     const struct scope *scope, const struct kernel_lookup *lookup,
                     struct error *error);

/* The one step of a reference; `expectation->kind` is EXPECT_REFERENCE. */
int launch_plan_reference(struct launch_plan *launch_plan, const struct template *template,
                          const struct expectation *expectation, const struct scope *scope,
                          struct error *error);

void launch_plan_release(struct launch_plan *launch_plan);

/* Threads of a block, blocks of a grid. */
int64_t step_threads(const struct step *step);
int64_t step_blocks(const struct step *step);

#endif
