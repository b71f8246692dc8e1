/* Random numbers of other kinds from statistics_random(). */
#ifndef AUTOTUNE_RANDOM_NUMBER_H
#define AUTOTUNE_RANDOM_NUMBER_H

#include "base/statistics.h"

#include <stddef.h>
#include <stdint.h>

/* 0 … `count` - 1, equally likely but for 2^-56 * count. */
static inline size_t random_below(uint64_t *state, size_t count)
{
    return (size_t)((statistics_random(state) >> 8) % count);
}

/* 0 … 1, without 1 itself. */
static inline double random_fraction(uint64_t *state)
{
    return (double)(statistics_random(state) >> 11) * 0x1p-53;
}

#endif
