#ifndef AUTOTUNE_LEAST_H
#define AUTOTUNE_LEAST_H

#include <stddef.h>

static inline size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

#endif
