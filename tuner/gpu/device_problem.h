/*
 * One problem on the GPU: its inputs, outputs and expected results, made once and shared by all its
 * variants; and one variant of it, loaded: its module, its schedule with real pointers, its scratch
 * buffers.
 */
#ifndef AUTOTUNE_DEVICE_PROBLEM_H
#define AUTOTUNE_DEVICE_PROBLEM_H

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
    struct device_buffer *buffers;  /* of template.buffers[i]; scratch ones belong to variants */
    struct device_buffer *pristine; /* what read_write ones start from */
    uint64_t *checksums;            /* of read ones, as they must stay */
    struct device_buffer *expected; /* of template.expectations[i] */
    uint64_t *expected_sums;        /* their checksums, as verify.c lays them out */
    CUdeviceptr slots;              /* where the checking kernels put their findings */
    uint64_t *slot_values;          /* the host's copy */
    struct device_arena arena;      /* of the variants' scratch buffers */
    size_t loaded;                  /* variants that may hold buffers of the arena */
    CUdeviceptr flush;              /* read through to empty the L2 of anything else */
    uint64_t flush_bytes;
    bool cold;
    struct footprint footprint;
};

struct problem_request {
    const char *template_path;
    const char *template_hash; /* the template must still be the one the coordinator read */
    const struct bindings *problem;
    const void *reference_cubin; /* the source compiled with its defaults; NULL where no reference
                                    needs it */
    bool cold;
};

/*
 * Loads the template, makes and fills the buffers, runs the references. Returns 0; ERROR_CONFIG for
 * the template's faults; ERROR_MEMORY where there is not room for all of it; ERROR_DEVICE where a
 * reference fails. On failure nothing is left.
 */
int device_problem_open(struct device_problem *problem, struct device_context *device,
                        const struct problem_request *request, struct error *error);
void device_problem_close(struct device_problem *problem);

struct batch;

struct device_variant {
    int64_t id;
    char *cubin;  /* path of the entry that it came from; NULL for a trial's */
    bool counted; /* in problem->loaded */
    struct device_code copies[CODE_COPIES];
    size_t copy_count; /* loaded so far */
    size_t copy;       /* that runs */
    struct launch_plan launch_plan;
    void ***arguments;             /* of each step, as cuLaunchKernel wants them */
    struct device_buffer *scratch; /* of template.buffers[i], where that is scratch */
    struct bindings parameters;
    struct batch *batch; /* batch.h's, for whoever makes it to free; NULL: none */
};

/*
 * Loads a variant from its cubin, evaluates its schedule by the driver's own figures and makes its
 * scratch buffers. Returns 0 with *outcome OUTCOME_MEASURED (so far), or 0 with load_error or
 * not_resident and the reason in `error`; a negative code where a template's expression fails
 * (ERROR_CONFIG) or the driver does (ERROR_DEVICE).
 */
int device_variant_load(struct device_variant *variant, struct device_problem *problem,
                        const void *cubin, const struct bindings *parameters, enum outcome *outcome,
                        struct error *error);
void device_variant_unload(struct device_variant *variant, struct device_problem *problem);

/*
 * From now on runs copy `number` modulo CODE_COPIES of the code, of the same cubin; loads it where that
 * is a new one. Where there is no memory for it, the copies that there are serve. Returns 0 or
 * ERROR_DEVICE.
 */
int device_variant_choose_copy(struct device_variant *variant, struct device_problem *problem,
                               const void *cubin, size_t number, struct error *error);
/* Whether that needs the cubin. */
bool device_variant_lacks_copy(const struct device_variant *variant, size_t number);

/* Queues one run of all launches; fails with the call's error at the launch that the driver
 * refuses. */
int device_variant_run(const struct device_variant *variant, struct device_problem *problem,
                       struct error *error);

/* Queues what must happen before each run: read_write buffers as they were. */
int device_problem_restore(struct device_problem *problem, struct error *error);

#endif
