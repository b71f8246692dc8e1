/*
 * The launch plan of a variant: every launch of one run in order, with loops unrolled, conditions
 * decided, and grid, block and arguments as numbers. It only evaluates the template's expressions;
 * the caller provides a lookup for registers and occupancy, from the driver or from the compiler's
 * log and the occupancy calculator. step_arguments.c evaluates the arguments.
 */
#ifndef AUTOTUNE_LAUNCH_PLAN_H
#define AUTOTUNE_LAUNCH_PLAN_H

#include "base/error.h"
#include "base/hash.h"
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
    int cluster_blocks; /* of the clusters that the code is compiled for; 0: none, or not known */
};

struct step;

/* Callbacks that look up a compiled kernel; all get `user`, and return 0 or an error. */
struct kernel_lookup {
    void *user;
    int (*info)(void *user, const char *entry, struct kernel_info *info, struct error *error);
    int (*blocks_per_sm)(void *user, const char *entry, int block_threads,
                         int64_t dynamic_shared_bytes, int *blocks, struct error *error);
    /* How many clusters of the step, or of its code, the GPU holds at once. NULL: not known without a GPU, because it
     * depends on how the SMs are grouped. */
    int (*active_clusters)(void *user, const struct step *step, int *clusters, struct error *error);
};

/* As CUclusterSchedulingPolicy numbers them. */
enum cluster_scheduling {
    CLUSTER_SCHEDULING_DEFAULT,
    CLUSTER_SCHEDULING_SPREAD,
    CLUSTER_SCHEDULING_LOAD_BALANCING
};

/* Their words in templates, ended by NULL. */
const char *const *cluster_scheduling_names(void);

/* What a launch asks of the driver beyond its grid, block and shared memory. */
struct launch_attributes {
    uint32_t cluster[3]; /* blocks; 1, 1, 1 without clusters */
    bool programmatic;   /* may begin before the launch in front of it has ended */
    enum cluster_scheduling cluster_scheduling;
    int shared_carveout; /* per cent of the SM's memory, -1: the driver's choice */
};

/* Blocks of a cluster; whether the launch needs cuLaunchKernelEx. */
int64_t launch_attributes_cluster_blocks(const struct launch_attributes *attributes);
bool launch_attributes_any(const struct launch_attributes *attributes);

/* The numbers of a tensor map. */
struct tensor_map {
    enum element_type type;
    size_t rank;
    uint64_t dimensions[TENSOR_RANK]; /* elements */
    uint64_t strides[TENSOR_RANK];    /* bytes; [0] is an element's size */
    uint32_t box[TENSOR_RANK], steps[TENSOR_RANK];
    uint32_t swizzle, interleave, l2; /* bytes; 0: none */
    bool fill_nan;
};

/* In place of a buffer's index: a verifier's counter, and a null pointer. Behind the buffers, indices are of expected
 * results. */
#define STEP_WRONG SIZE_MAX
#define STEP_NULL (SIZE_MAX - 1)

/* An address in a struct, or addresses in an array of pointers. */
struct step_pointer {
    size_t buffer; /* as in step_argument */
    uint64_t part; /* elements of each part that is pointed to; 0: one pointer to the buffer */
    size_t offset; /* in a struct */
};

struct step_argument {
    enum argument_kind kind;
    size_t buffer; /* index, STEP_WRONG or STEP_NULL */
    /* A scalar or struct as the kernel has it; owned. For pointers, textures and tensor maps, whoever
     * launches puts the array's address or the object there, and a struct's addresses into it. */
    unsigned char *bytes;
    size_t size;            /* of these; 8 for a buffer */
    uint64_t width, height; /* of a texture, in elements; 0 for linear memory */
    struct texture_options texture;
    struct tensor_map *tensor_map; /* owned, as is … */
    struct step_pointer *pointers;
    size_t pointer_count;
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
    struct step constants;   /* the arguments are those of [constants] */
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
 * does not check the GPU's and the kernel's limits: compile/launch_check.h does.
 */
int launch_plan_make(struct launch_plan *launch_plan, const struct template *template,
                     const struct scope *scope, const struct kernel_lookup *lookup,
                     struct error *error);

/* Makes the plan of a helper (template.h), without steps if it has nothing to do. */
int launch_plan_helper(struct launch_plan *launch_plan, const struct template *template,
                       struct helper helper, const struct scope *scope, struct error *error);

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

/*
 * Evaluates the arguments of `launch` into a new array of launch->argument_count. Returns 0, or
 * ERROR_CONFIG: an expression fails, a scalar does not fit its type, a tensor map breaks a limit.
 * Release the array either way.
 */
int step_arguments_read(struct step_argument **arguments, const struct launch *launch,
                        const struct template *template, const struct scope *scope,
                        struct error *error);
void step_arguments_release(struct step_argument *arguments, size_t count);

/*
 * Evaluates a scalar argument of a launch, or a field of one, and stores it at `bytes` as the kernel
 * has it. Does not allocate. Returns 0, or ERROR_CONFIG if the expression fails or its value does
 * not fit the type.
 */
int step_argument_scalar(const struct template *template, const struct launch *launch,
                         const struct argument *argument, const struct scope *scope,
                         unsigned char *bytes, struct error *error);

/* The bytes from the first element to the end of the last. */
uint64_t tensor_map_bytes(const struct tensor_map *map);

/* A whole number from `least` to `most`; `what` of the launch, for messages. */
int64_t evaluate_extent(struct evaluation *evaluation, const struct expression *expression,
                        int64_t otherwise, int64_t least, int64_t most, const char *what,
                        const struct launch *launch);

/* The whole number called `name` in the scope; false if there is none. */
bool scope_integer(const struct scope *scope, const char *name, int64_t *integer);

/*
 * Adds to `hash` what a variant runs besides its machine code: every launch with its grid, block, memory and
 * arguments, every scratch buffer, the work that the metrics state, and the parameters that the other buffers
 * and the expected results depend on. Variants of one problem with the same machine code and the same hash do
 * exactly the same, and are judged alike. `scope` is the one that the plan was made with. Returns 0, or
 * ERROR_CONFIG if an expression of a scratch buffer or a metric fails. */
int launch_hash_add(struct hash *hash, const struct launch_plan *launch_plan,
                    const struct template *template, const struct scope *scope,
                    struct error *error);

#endif
