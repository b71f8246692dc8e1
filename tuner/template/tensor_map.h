/*
 * Tensor maps (CUtensorMap of cuTensorMapEncodeTiled) as arguments: what the template says about
 * one, and its numbers in one launch. This module knows the driver's limits, but does not call the
 * driver.
 */
#ifndef AUTOTUNE_TENSOR_MAP_H
#define AUTOTUNE_TENSOR_MAP_H

#include "base/error.h"
#include "template/element.h"
#include "template/expression.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TENSOR_RANK = 5 }; /* the most dimensions */

/* Innermost dimension first. */
struct tensor_map_options {
    size_t rank;
    struct expression *dimensions[TENSOR_RANK], *box[TENSOR_RANK]; /* elements */
    struct expression *strides[TENSOR_RANK]; /* elements, from dimension 1 on; [1] NULL: dense */
    struct expression *steps[TENSOR_RANK];   /* [0] NULL: 1 */
    struct expression *swizzle, *interleave; /* bytes; NULL: 0, none */
    struct expression *l2;                   /* bytes that L2 fetches at least; NULL: 128 */
    bool fill_nan;                           /* beyond the edges; otherwise 0 */
};

struct tensor_map {
    enum element_type type;
    size_t rank;
    uint64_t dimensions[TENSOR_RANK]; /* elements */
    uint64_t strides[TENSOR_RANK];    /* bytes; [0] is an element's size */
    uint32_t box[TENSOR_RANK], steps[TENSOR_RANK];
    uint32_t swizzle, interleave, l2; /* bytes; 0: none */
    bool fill_nan;
};

void tensor_map_options_free(struct tensor_map_options *options); /* NULL is allowed */

/*
 * Evaluates the options for elements of `type`. Returns 0, or ERROR_CONFIG at the expression that
 * breaks a limit in the driver's documentation.
 */
int tensor_map_read(struct tensor_map *map, const struct tensor_map_options *options,
                    enum element_type type, const struct scope *scope, struct error *error);

/* The bytes from the first element to the end of the last. */
uint64_t tensor_map_bytes(const struct tensor_map *map);

#endif
