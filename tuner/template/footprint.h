/*
 * The device memory that a problem takes, known before anything is allocated: every buffer with its
 * guards, what read_write ones start from, expected results, what is read to empty the L2, the arena
 * of small scratch buffers, and larger scratch buffers whose length depends on the problem alone.
 * Scratch that depends on the variant is not known here: a variant that finds no room for it is a
 * launch_error. Pure arithmetic; no driver is asked.
 */
#ifndef AUTOTUNE_FOOTPRINT_H
#define AUTOTUNE_FOOTPRINT_H

#include "base/error.h"
#include "template/expression.h"
#include "template/template.h"
#include "template/value.h"

#include <stdint.h>

enum {
    GUARD_BYTES = 4096,             /* on each side of every buffer */
    ARENA_BYTES = 16 * 1024 * 1024, /* that small scratch buffers are cut from */
    FLUSH_L2_TIMES =
        2, /* L2 sizes read to empty it of everything else, whatever it replaces first */
};

struct footprint {
    uint64_t bytes;         /* in all; UINT64_MAX where that is more */
    uint64_t largest_bytes; /* of the largest buffer, without its copies */
    const char *largest;    /* its name, the template's; NULL where there is no buffer */
};

/*
 * `fixed` binds problem values and device attributes. A length that cannot be evaluated counts as
 * nothing: whoever makes the buffer says what is wrong with it.
 */
struct footprint footprint_of(const struct template *template, const struct bindings *fixed,
                              bool cold);

/*
 * ERROR_MEMORY: that `problem` needs so much, and that `available_bytes` "are free" (or whatever
 * `available` says of them).
 */
int footprint_refuse(const struct footprint *footprint, const struct template *template,
                     const struct bindings *problem, uint64_t available_bytes,
                     const char *available, struct error *error);

#endif
