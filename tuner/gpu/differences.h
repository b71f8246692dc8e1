/* The elements of a wrong result, one by one. */
#ifndef AUTOTUNE_DIFFERENCES_H
#define AUTOTUNE_DIFFERENCES_H

#include "base/error.h"
#include "gpu/device_problem.h"
#include "gpu/device_variant.h"
#include "template/element.h"

#include <stddef.h>
#include <stdint.h>

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
int differences_list(struct device_problem *problem, const struct device_variant *variant,
                     struct difference *differences, size_t most, size_t *count,
                     struct error *error);

#endif
