/*
 * Computes theoretical occupancy with the toolkit's cuda_occupancy.h, which is plain arithmetic and
 * needs neither a driver nor a GPU. With the attributes of a real device it agrees with
 * cuOccupancyMaxActiveBlocksPerMultiprocessor (tests/gpu.sh compares them for every variant).
 *
 * It assumes the driver's default split between L1 and shared memory, which gives shared memory as
 * much as the SM has; the driver's own query assumes the same. A kernel that asks for another
 * carve-out may reach lower occupancy.
 */
#ifndef AUTOTUNE_OCCUPANCY_H
#define AUTOTUNE_OCCUPANCY_H

#include "base/error.h"
#include "record/gpu.h"

#include <stdint.h>

struct occupancy_input {
    int block_threads;
    int registers;               /* per thread */
    int64_t static_shared_bytes; /* per block */
    int64_t dynamic_shared_bytes;
    int max_threads_per_block; /* the kernel's launch bounds; 0: the device's limit */
    int barriers;              /* named barriers (bar.sync) per block; 0: unknown, no limit */
};

/* Which resource limits the number of resident blocks; there may be several. Static and dynamic
 * shared memory count together. */
enum occupancy_limiter {
    OCCUPANCY_LIMIT_THREADS = 1 << 0, /* warps per SM */
    OCCUPANCY_LIMIT_REGISTERS = 1 << 1,
    OCCUPANCY_LIMIT_SHARED = 1 << 2,
    OCCUPANCY_LIMIT_BLOCKS = 1 << 3,
    OCCUPANCY_LIMIT_BARRIERS = 1 << 4, /* from compute capability 9.0 on */
};

struct occupancy {
    int blocks_per_sm; /* 0: the block cannot run at all */
    double fraction;   /* resident warps / maximum warps per SM, 0 to 1 */
    unsigned limiters; /* bits of enum occupancy_limiter */
};

/*
 * Returns 0, or ERROR_CONFIG for an impossible block (no threads, a negative number) or a device
 * that the toolkit's calculator does not know. A block that exceeds the device or the launch bounds
 * is not an error: the result is 0 blocks.
 */
int occupancy_compute(const struct gpu *gpu, const struct occupancy_input *input,
                      struct occupancy *occupancy, struct error *error);

/* Writes for example "registers" or "shared+blocks"; "-" if there is none. Returns `buffer`. */
#define OCCUPANCY_LIMITER_BYTES 48
char *occupancy_limiter_text(unsigned limiters, char buffer[OCCUPANCY_LIMITER_BYTES]);

#endif
