/*
 * Theoretical occupancy by the toolkit's cuda_occupancy.h, which is plain arithmetic: no driver, no
 * GPU. With the figures of a real device it agrees with cuOccupancyMaxActiveBlocksPerMultiprocessor
 * (tests/gpu.sh compares them for every variant).
 *
 * The split between L1 and shared memory is the driver's default: as much shared memory as the SM
 * has, which the driver's own query assumes too. A kernel that asks for another carve-out may hold
 * fewer blocks.
 */
#ifndef AUTOTUNE_OCCUPANCY_H
#define AUTOTUNE_OCCUPANCY_H

#include "base/error.h"
#include "record/gpu.h"

#include <stdint.h>

struct occupancy_input {
    int block_threads;
    int registers;               /* a thread */
    int64_t static_shared_bytes; /* a block, declared in the kernel */
    int64_t dynamic_shared_bytes;
    int max_threads_per_block; /* of the kernel's launch bounds; 0: the device's limit */
    int barriers; /* named barriers (bar.sync) of a block; 0 where not known: they limit nothing */
};

/* What keeps a further block out; several may at once. Static and dynamic shared memory count
 * together. */
enum occupancy_limiter {
    OCCUPANCY_LIMIT_THREADS = 1 << 0, /* warps of the SM */
    OCCUPANCY_LIMIT_REGISTERS = 1 << 1,
    OCCUPANCY_LIMIT_SHARED = 1 << 2,
    OCCUPANCY_LIMIT_BLOCKS = 1 << 3,
    OCCUPANCY_LIMIT_BARRIERS = 1 << 4, /* from compute capability 9.0 on */
};

struct occupancy {
    int blocks_per_sm; /* 0: the block cannot run at all */
    double fraction;   /* resident warps over the SM's most, 0 to 1 */
    unsigned limiters; /* of enum occupancy_limiter */
};

/*
 * Returns 0, or ERROR_CONFIG for an impossible block (no threads, a negative figure) or a device
 * that the toolkit's calculator does not know. A block larger than the device or the launch bounds
 * take is not an error: it gives 0 blocks.
 */
int occupancy_compute(const struct gpu *gpu, const struct occupancy_input *input,
                      struct occupancy *occupancy, struct error *error);

/* "registers", "shared+blocks", "-" for none. Returns `buffer`. */
#define OCCUPANCY_LIMITER_BYTES 48
char *occupancy_limiter_text(unsigned limiters, char buffer[OCCUPANCY_LIMITER_BYTES]);

#endif
