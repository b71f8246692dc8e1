/*
 * What would let more warps onto an SM: for one resource at a time, the largest amount below the
 * variant's own with which occupancy is higher, everything else being equal. By the occupancy
 * calculator alone; that the kernel also works, or is faster, with so much less is not said.
 */
#ifndef AUTOTUNE_REPORT_HEADROOM_H
#define AUTOTUNE_REPORT_HEADROOM_H

#include "record/gpu.h"
#include "record/study.h"

#include <stdint.h>

enum headroom_resource {
    HEADROOM_REGISTERS, /* a thread */
    HEADROOM_SHARED,    /* bytes a block, static and dynamic together */
    HEADROOM_THREADS,   /* a block, in steps of a warp */
    HEADROOM_RESOURCES
};

struct headroom {
    struct {
        int64_t limit;     /* so much or less; -1: no smaller amount helps */
        double occupancy;  /* then, 0 to 1 */
        int blocks_per_sm; /* then */
    } steps[HEADROOM_RESOURCES];
};

/* Figures that are not known, or that fill the SM already, have no step that helps. */
void headroom_find(const struct gpu *gpu, const struct kernel_stats *figures,
                   struct headroom *headroom);

/* "registers <= 40: 75 %, shared <= 3456 B: 62 %"; "" where nothing helps. Returns `buffer`. */
#define HEADROOM_TEXT_BYTES 160
char *headroom_text(const struct headroom *headroom, char buffer[HEADROOM_TEXT_BYTES]);

#endif
