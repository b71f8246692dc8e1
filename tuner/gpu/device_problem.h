/*
 * A problem on the GPU: its inputs, outputs and expected results, made once and shared by all its
 * variants. Also a loaded variant of it: its code, its launch plan with device pointers, and its
 * scratch buffers.
 */
#ifndef AUTOTUNE_DEVICE_PROBLEM_H
#define AUTOTUNE_DEVICE_PROBLEM_H

#include "compile/compilation.h"
#include "gpu/device_buffer.h"
#include "gpu/device_code.h"
#include "gpu/device_context.h"
#include "record/outcome.h"
#include "template/footprint.h"
#include "template/launch_plan.h"
#include "template/template.h"

struct device_problem {
    struct device_context *device;
    struct template template;
    struct bindings fixed;          /* problem values and device attributes */
    struct device_buffer *buffers;  /* one per template.buffers[i]; variants own scratch buffers */
    struct device_buffer *pristine; /* initial contents of read_write buffers */
    uint64_t *checksums;            /* of read buffers, which must not change */
    struct device_buffer *expected; /* one per template.expectations[i] */
    uint64_t *expected_sums;        /* their checksums, in the layout of verify.c */
    CUdeviceptr slots;              /* where the checking kernels write their findings */
    uint64_t *slot_values;          /* the host's copy of the slots */
    struct device_arena arena;      /* holds the variants' scratch buffers */
    size_t loaded;                  /* number of variants that may use the arena */
    CUdeviceptr flush;              /* reading this evicts everything else from the L2 */
    uint64_t flush_bytes;
    bool cold;
    struct footprint footprint;
};

struct problem_request {
    const char *template_path;
    const char *template_hash; /* opening fails if the template has another hash; NULL: any */
    const struct bindings *problem;
    const struct compilation *reference; /* the source compiled with its defaults; NULL: none */
    bool cold;
};

/*
 * Loads the template, makes and fills the buffers, runs the references. Returns 0, ERROR_CONFIG if
 * the template is wrong, ERROR_MEMORY if the problem does not fit in GPU memory, or ERROR_DEVICE if
 * a reference fails. Frees everything on failure.
 */
int device_problem_open(struct device_problem *problem, struct device_context *device,
                        const struct problem_request *request, struct error *error);
void device_problem_close(struct device_problem *problem);

struct batch;

struct device_variant {
    int64_t id;
    struct compilation compilation; /* its cubin, for more copies, and the names in it */
    bool counted;                   /* in problem->loaded */
    struct device_code copies[CODE_COPIES];
    size_t copy_count; /* number of copies loaded */
    size_t copy;       /* the one that runs */
    struct launch_plan launch_plan;
    void ***arguments;             /* of each step, as cuLaunchKernel takes them */
    struct device_buffer *scratch; /* [i] is set if template.buffers[i] is scratch */
    struct bindings parameters;
    struct batch *batch; /* see batch.h; freed by whoever made it; NULL: none */
};

/*
 * Loads a variant from its compilation, which it takes over, evaluates its launch plan with the driver's register counts
 * and occupancy, and makes its scratch buffers. If the variant can run, returns 0 with *outcome set
 * to OUTCOME_MEASURED. If it cannot, returns 0 with *outcome set to its failure
 * (OUTCOME_LOAD_ERROR, OUTCOME_NOT_RESIDENT or OUTCOME_LAUNCH_ERROR) and the reason in `error`.
 * Returns ERROR_CONFIG if an expression of the template fails or its arguments do not match the
 * kernel's, or ERROR_DEVICE if the driver fails. Call device_variant_unload() in any case.
 */
int device_variant_load(struct device_variant *variant, struct device_problem *problem,
                        struct compilation *compilation, const struct bindings *parameters,
                        enum outcome *outcome, struct error *error);
void device_variant_unload(struct device_variant *variant, struct device_problem *problem);

/*
 * Selects copy `number` modulo CODE_COPIES of the code for the runs that follow, and loads it from
 * variant->compilation if it is new. If GPU memory is short, reuses a copy that is loaded. Returns 0 or
 * ERROR_DEVICE.
 */
int device_variant_choose_copy(struct device_variant *variant, struct device_problem *problem,
                               size_t number, struct error *error);

/* Queues the copies from the problem's buffers to the variables of the current copy of the code, and
 * from all variables back: see device_symbols.h. */
int device_variant_push(const struct device_variant *variant, struct device_problem *problem,
                        bool outputs, struct error *error);
int device_variant_pull(const struct device_variant *variant, struct device_problem *problem,
                        struct error *error);

/* Queues one run: all launches of the plan, in order. Returns 0, or ERROR_DEVICE at the first
 * launch that the driver refuses. */
int device_variant_run(const struct device_variant *variant, struct device_problem *problem,
                       struct error *error);

/* Queues the copies that restore read_write buffers to their initial contents, with
 * device_variant_restore() also those that are variables of the current copy of the code; needed
 * before each run. */
int device_variant_restore(const struct device_variant *variant, struct device_problem *problem,
                           struct error *error);
int device_problem_restore(struct device_problem *problem, struct error *error);

#endif
