/*
 * Samples of a variant as a request asks for them: single ones, or batches if the variant is short
 * or the request says so.
 */
#ifndef AUTOTUNE_SAMPLING_H
#define AUTOTUNE_SAMPLING_H

#include "base/error.h"
#include "gpu/batch.h"
#include "gpu/device_problem.h"
#include "gpu/device_variant.h"
#include "gpu/measure.h"

#include <jansson.h>
#include <stddef.h>

enum { EMPTY_SAMPLES = 15 }; /* of an empty kernel */

struct sampling {
    struct measure measure;
    struct batches batches; /* of the open problem's variants */
    double empty_batch_ns;  /* one run of an empty kernel in a batch; 0: not measured yet */
};

struct samples {
    double *ns; /* allocated for as many as the request asks for */
    size_t count;
    int runs;         /* each sample is the mean of this many: 1 or BATCH_RUNS */
    double single_ns; /* median of single samples; 0: none were taken */
};

/* Takes `count` samples, as `batched`, `enough_ns` and `short_ns` of the request say (FORMATS.md).
 * Returns 0, or the error of measuring. */
int sampling_take(struct sampling *sampling, struct device_problem *problem, const json_t *request,
                  struct device_variant *variant, size_t count, struct samples *samples,
                  struct error *error);

/* The times as an array; the samples as an object with the keys of FORMATS.md. Both are new. */
json_t *times_to_json(const double *times_ns, size_t count);
json_t *samples_to_json(const struct samples *samples, double empty_batch_ns);

#endif
