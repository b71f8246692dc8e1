/*
 * A variant of a problem on the GPU: its code, its launch plan with device pointers, and its scratch
 * buffers. Calling sequence: bind its parameters, device_variant_prepare(), device_variant_load(),
 * then any number of runs, each after device_variant_prepare(), and device_variant_unload().
 */
#ifndef AUTOTUNE_DEVICE_VARIANT_H
#define AUTOTUNE_DEVICE_VARIANT_H

#include "compile/compilation.h"
#include "gpu/device_code.h"
#include "gpu/device_problem.h"
#include "record/study.h"
#include "template/launch_plan.h"

struct batch;

struct device_variant {
    int64_t id;
    struct device_data data;        /* of its parameters; launches' arguments point into it */
    struct compilation compilation; /* its cubin, for more copies, and the names in it */
    bool counted;                   /* in problem->loaded */
    struct device_code copies[CODE_COPIES];
    size_t copy_count; /* number of copies loaded */
    size_t copy;       /* the one that runs */
    struct launch_plan launch_plan;
    void ***arguments;             /* of each step, as cuLaunchKernel takes them */
    struct device_buffer *scratch; /* [i] is set if template.buffers[i] is scratch */
    struct buffer_places *places;  /* of the scratch buffers */
    /* of these, and behind them of their copies in the batch, when trial_mend() last saw them */
    uint64_t *fingerprints;
    struct bindings parameters;
    uint64_t refills;    /* data_store.refills when its variables were filled */
    unsigned resets;     /* device_variant_reset() was called so often */
    enum poison poison;  /* from which the run started whose results its buffers have */
    struct batch *batch; /* see batch.h; freed by whoever made it; NULL: none */
};

/*
 * Gives the variant its data, makes whatever is missing (data_store.h), and moves all buffers to
 * `place`; 0 is where they were made. Call it before loading the variant and before each use,
 * because other variants may have taken its memory. `*moved` says whether a buffer has moved. A
 * variant that is loaded gets contents that were made again in its variables, too. Returns what
 * data_store_take() does; if memory is short, the message names the parameters.
 */
int device_variant_prepare(struct device_variant *variant, struct device_problem *problem,
                           size_t place, bool *moved, struct error *error);

/*
 * Loads a variant that has its parameters and data from its compilation, which it takes over: evaluates
 * its launch plan with the driver's register counts and occupancy, and makes its scratch buffers. If the
 * variant can run, returns 0 with *outcome set to OUTCOME_MEASURED. If it cannot, returns 0 with *outcome set to its failure (OUTCOME_LOAD_ERROR, OUTCOME_NOT_RESIDENT or
 * OUTCOME_LAUNCH_ERROR) and the reason in `error`. Returns ERROR_CONFIG if an expression of the
 * template fails or its arguments do not match the kernel's, or ERROR_DEVICE if the driver fails.
 * Call device_variant_unload() in any case.
 */
int device_variant_load(struct device_variant *variant, struct device_problem *problem,
                        struct compilation *compilation, enum outcome *outcome,
                        struct error *error);
void device_variant_unload(struct device_variant *variant, struct device_problem *problem);

/*
 * Selects copy `number` modulo CODE_COPIES of the code for the runs that follow, and loads it from
 * variant->compilation if it is new. If GPU memory is short, reuses a copy that is loaded. Returns 0 or
 * ERROR_DEVICE.
 */
int device_variant_choose_copy(struct device_variant *variant, struct device_problem *problem,
                               size_t number, struct error *error);

/* Queues the copies from the variables of the current copy of the code to the problem's buffers; see
 * device_code.h. */
int device_variant_pull(const struct device_variant *variant, struct device_problem *problem,
                        struct error *error);

/* Queues one run: all launches of the plan, in order. Returns 0, or ERROR_DEVICE at the first
 * launch that the driver refuses. */
int device_variant_run(const struct device_variant *variant, struct device_problem *problem,
                       struct error *error);

/*
 * Queues what must precede every run, timed or not: restores read_write buffers to their initial
 * contents, poisons outputs, so that no run finds an earlier one's results there, and poisons the
 * scratch buffers that are work space. The poison takes turns: the usual one, which the first verified run
 * starts from, a large number, the usual one, a small number (element.h).
 */
int device_variant_reset(struct device_variant *variant, struct device_problem *problem,
                         struct error *error);

/* The same with this poison, out of turn. */
int device_variant_reset_to(struct device_variant *variant, struct device_problem *problem,
                            enum poison poison_kind, struct error *error);

/* The byte of variant->poison for buffer `index`, an output or work space of this type. */
unsigned char device_variant_poison(const struct device_variant *variant, size_t index,
                                    enum element_type type);

/* About how many driver calls that makes. */
size_t device_variant_reset_calls(const struct device_problem *problem);

#endif
