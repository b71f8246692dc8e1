/* How a study's best time improved while its variants were tried. */
#ifndef AUTOTUNE_IMPROVEMENTS_H
#define AUTOTUNE_IMPROVEMENTS_H

#include "record/study.h"

#include <stddef.h>

struct improvement {
    size_t number; /* it was the first, second, … variant that was tried */
    const struct result *result;
};

/* The variants that were faster than all before them, in the order they were tried; a new array. By
 * what is known of them now: the finals may have changed who was faster. None if it is not known
 * when they were tried. */
struct improvement *improvements_of(const struct study *study, size_t *count);

#endif
