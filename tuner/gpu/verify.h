/*
 * Checks that a variant's result is right. Every run, timed or not, begins with
 * device_variant_reset(), so that it cannot find an earlier run's results; any of them can be checked.
 * A check compares the outputs with the expected results, on the GPU, and looks at the guards around
 * the buffers. A check of everything also looks at what no variant may change: the inputs, their
 * initial contents and copies, and the expected results. The template's verifiers run last. The variant
 * must have its data: device_variant_prepare().
 */
#ifndef AUTOTUNE_VERIFY_H
#define AUTOTUNE_VERIFY_H

#include "base/error.h"
#include "gpu/batch.h"
#include "gpu/device_problem.h"
#include "gpu/device_variant.h"
#include "gpu/measure.h"
#include "template/element.h"

enum finding {
    FINDING_RIGHT,
    FINDING_WRONG,
    FINDING_DAMAGE /* something was written that may not be: the problem must be opened again */
};

/* One verification: what is to be done, and what was found. */
struct verify {
    struct device_problem *problem;
    struct device_variant *variant;
    const struct batches *batches; /* whose copies a check of everything looks at; NULL: none */
    struct measure *measure; /* the run is between its events (measure_queue_run()); NULL: not */
    bool everything;
    /* the run also changes what a variant may not rely on: the guards, which it sees if it reads beyond a buffer,
     * and what shared memory holds when the kernel begins */
    bool hostile;
    unsigned char guard; /* what the guards hold: GUARD_PATTERN */
    enum finding finding;
    char reason[256]; /* if it is FINDING_RIGHT, how many elements differ that may; "": none do */
};

/* Allocates what the verification of this problem's variants needs; device_problem_close() frees it. */
int verify_prepare(struct device_problem *problem, struct error *error);

/* Runs the variant and checks the result, as verify_last() does. Returns ERROR_DEVICE if the driver refused the
 * launch or the kernel crashed. */
int verify_run(struct verify *verify, struct error *error);

/*
 * Checks the results of the last run. If they are wrong, or with `everything`, also checks what no
 * variant may change; if that is intact, data_store_trust() knows. Returns 0 or ERROR_DEVICE. The same in two
 * steps: verify_queue() behind the run, and verify_judge() once the device has come to its end.
 */
int verify_last(struct verify *verify, struct error *error);
int verify_queue(const struct verify *verify, struct error *error);
int verify_judge(struct verify *verify, struct error *error);

/* An element that differs from what is expected. */
struct difference {
    size_t buffer; /* index */
    uint64_t index;
    char got[ELEMENT_TEXT_BYTES]; /* "not written" for the poison */
    char expected[ELEMENT_TEXT_BYTES];
};

/* After a run of the variant whose result is wrong: the first `most` elements that differ, in the
 * order of the expectations. Unordered comparisons and verifiers list none. Returns 0 or
 * ERROR_DEVICE. */
int verify_differences(struct device_problem *problem, struct device_variant *variant,
                       struct difference *differences, size_t most, size_t *count,
                       struct error *error);

#endif
