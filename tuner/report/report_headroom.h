/*
 * How a variant could reach a higher occupancy: for one resource at a time, the largest amount
 * below the variant's own that raises occupancy if nothing else changes. Computed by the occupancy
 * calculator only: it does not mean that the kernel works, or is faster, with less.
 */
#ifndef AUTOTUNE_REPORT_HEADROOM_H
#define AUTOTUNE_REPORT_HEADROOM_H

#include "record/gpu.h"
#include "record/study.h"

#include <stdint.h>

enum headroom_resource {
    HEADROOM_REGISTERS, /* per thread */
    HEADROOM_SHARED,    /* bytes per block, static and dynamic together */
    HEADROOM_THREADS,   /* per block, in steps of a warp */
    HEADROOM_RESOURCES
};

struct headroom {
    struct {
        int64_t limit;     /* the largest amount that helps; -1: no smaller amount helps */
        double occupancy;  /* at the limit, 0 to 1 */
        int blocks_per_sm; /* at the limit */
    } steps[HEADROOM_RESOURCES];
};

/* No step helps if the statistics are unknown or occupancy is 100 % already. */
void headroom_find(const struct gpu *gpu, const struct kernel_stats *stats,
                   struct headroom *headroom);

/* "registers <= 40: 75 %, shared <= 3456 B: 62 %"; "" if nothing helps. Returns `buffer`. */
#define HEADROOM_TEXT_BYTES 160
char *headroom_text(const struct headroom *headroom, char buffer[HEADROOM_TEXT_BYTES]);

#endif
