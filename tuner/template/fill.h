/*
 * What a buffer begins with: what a template's fill means, for the kernel that fills on the GPU
 * (device_kernels.cu) and for the host, which fills the scratch buffers of an application's kernels.
 */
#ifndef AUTOTUNE_FILL_H
#define AUTOTUNE_FILL_H

#include "base/error.h"
#include "template/element.h"
#include "template/expression.h"
#include "template/npy.h"
#include "template/template.h"

#include <stdint.h>

/* The arguments of a fill that is computed; missing ones are 0. */
struct fill_numbers {
    double a, b;
    uint64_t seed; /* of element 0; element i has seed + i */
};

/* Returns 0, or the expression's error. `fill->kind` is neither FILL_FILE nor FILL_NONE. */
int fill_read_numbers(const struct fill *fill, const struct scope *scope,
                      struct fill_numbers *numbers, struct error *error);

/* The file of FILL_FILE, to be released; ERROR_CONFIG unless it holds `length` elements of `type`. */
int fill_read_file(const struct fill *fill, enum element_type type, uint64_t length,
                   struct npy *npy, struct error *error);

/*
 * Fills `length` elements in the host's memory as the GPU would: whole numbers wrap at their type's
 * width, numbers beyond 64 bits are held there, FILL_NONE poisons. Returns 0, or ERROR_CONFIG.
 */
int fill_elements(const struct fill *fill, const struct scope *scope, enum element_type type,
                  uint64_t length, void *elements, struct error *error);

#endif
