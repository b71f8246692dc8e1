/*
 * Computes the GPU memory that a problem needs, before anything is allocated: all buffers and their
 * guards, the initial contents of read_write buffers, expected results, the buffer that flushes the
 * L2, the arena for small scratch buffers, and larger scratch buffers whose length depends only on
 * the problem. Scratch buffers whose length depends on the variant are not included; if one does
 * not fit, that variant is a launch_error. Pure arithmetic, without the driver.
 */
#ifndef AUTOTUNE_FOOTPRINT_H
#define AUTOTUNE_FOOTPRINT_H

#include "base/error.h"
#include "template/template.h"
#include "template/value.h"

#include <stdint.h>

enum {
    GUARD_BYTES = 4096,            /* on each side of every buffer */
    ARENA_BYTES = 4 * 1024 * 1024, /* for small scratch buffers */
    FLUSH_L2_TIMES = 2,            /* read twice the L2's size, whatever its replacement policy */
};

struct footprint {
    uint64_t bytes;         /* total; saturates at UINT64_MAX */
    uint64_t largest_bytes; /* of the largest buffer, without copies */
    const char *largest;    /* its name, owned by the template; NULL: no buffers */
};

/*
 * `fixed` binds problem values and device attributes, `parameters` those of the variant whose
 * buffers and expected results count (dependencies.h); if it is NULL, only those that all variants
 * share count. A length that cannot be evaluated counts as 0; allocating that buffer will report
 * the error.
 */
struct footprint footprint_of(const struct template *template, const struct bindings *fixed,
                              const struct bindings *parameters, bool cold);

/*
 * Returns ERROR_MEMORY with a message that says how much `problem` needs and ends in
 * "`available_bytes` `available`", for example "1.2 GB are free".
 */
int footprint_refuse(const struct footprint *footprint, const struct template *template,
                     const struct bindings *problem, uint64_t available_bytes,
                     const char *available, struct error *error);

#endif
