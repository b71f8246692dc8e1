/*
 * Copies of a problem's buffers elsewhere in memory. Which DRAM channels and L2 slices an input
 * meets depends on where the driver put it, and two variants a percent apart can change places from
 * one process to the next. Finals therefore go round several placements, so that what wins is not
 * the luck of one allocation.
 *
 * Only for a cold cache: with a warm one, moving to another copy would itself be what cools it.
 */
#ifndef AUTOTUNE_DEVICE_PLACEMENT_H
#define AUTOTUNE_DEVICE_PLACEMENT_H

#include "device_buffer.h"
#include "error.h"

#include <stdbool.h>
#include <stddef.h>

struct device_problem;

enum { PLACEMENTS = 32 };

struct device_placements {
    struct device_buffer
        *sets[PLACEMENTS]; /* each of template.buffers[i]; the first is the problem's */
    size_t count;          /* 0: none but the problem's own, not yet noted here */
    size_t current;        /* whose buffers problem->buffers are */
    bool full; /* no further ones: an eighth of the free memory is in use, or there is no more */
};

/*
 * Moves the problem and all its loaded variants to placement `number` modulo how many there are,
 * making a new one where `number` is one that could still be made. Does nothing for a warm cache.
 * Returns 0 or the driver's error; running out of memory is none.
 */
int device_problem_place(struct device_problem *problem, size_t number, struct error *error);

/* Frees all but the placement in use, which is problem->buffers. */
void device_placements_release(struct device_problem *problem);

#endif
