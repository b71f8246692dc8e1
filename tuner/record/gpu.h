/*
 * A GPU's description: read from the driver by the device worker or, in static mode, taken from a
 * table of architectures. Nothing here calls CUDA.
 *
 * template/device_attributes.h lists the attributes that expressions can name; gpu.c has their
 * values for each architecture.
 */
#ifndef AUTOTUNE_GPU_H
#define AUTOTUNE_GPU_H

#include "base/error.h"
#include "template/device_attributes.h"
#include "template/value.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct gpu {
    char name[128];         /* "NVIDIA H200"; in static mode the card that represents `arch` */
    char uuid[48];          /* "GPU-…"; "" in static mode */
    char arch[16];          /* "sm_90" */
    char driver[32];        /* "13.0 (580.95.05)", CUDA's version and its own; "" in static mode */
    int compute_capability; /* 90 for 9.0, 120 for 12.0; 0: not known, as is everything below */
    int64_t memory_bytes;
    int64_t attributes[GPU_ATTRIBUTE_COUNT];
};

/*
 * Fills `gpu` for `arch` ("sm_90", "sm_90a", "compute_90") from a table. `gpu->arch` becomes "sm_…"
 * with any suffix kept, so that NVRTC produces a cubin.
 *
 * The limits per compute capability are from the CUDA C++ Programming Guide, "Technical
 * Specifications per Compute Capability"; occupancy depends on nothing else. SM count, L2, clocks,
 * bus and memory differ between cards of one architecture, so the values and the name are those of
 * its best-known card. Some are approximate:
 * - memory is the nominal size in decimal gigabytes; a driver reports a few per cent more or less;
 * - the memory clocks of Jetson AGX Orin, Jetson AGX Thor and GB10 are computed from the published
 *   bandwidth (2 transfers per clock over the bus), not read from a driver;
 * - the B300 has the SM count, L2 and clocks of the B200.
 *
 * Returns 0, or ERROR_USAGE with a list of the known architectures.
 */
int gpu_from_arch(const char *arch, struct gpu *gpu, struct error *error);

/* Binds compute_capability, memory_bytes and every attribute for expressions. */
void gpu_bindings(const struct gpu *gpu, struct bindings *bindings);

/* The memory's theoretical bandwidth. */
double gpu_memory_gb_per_s(const struct gpu *gpu);

/* Whether two GPUs are of one model, so that times on one say what they are on the other: the same
 * name, architecture, memory and attributes, and clocks within 1 %. */
bool gpu_alike(const struct gpu *a, const struct gpu *b);

/* Convert to a JSON object (a new reference) and back. gpu_from_json() returns 0, or ERROR_WORKER
 * with the name of the missing member. */
json_t *gpu_to_json(const struct gpu *gpu);
int gpu_from_json(const json_t *object, struct gpu *gpu, struct error *error);

/*
 * Computes theoretical occupancy with the toolkit's cuda_occupancy.h, which is plain arithmetic and
 * needs neither a driver nor a GPU. With the attributes of a real device it agrees with
 * cuOccupancyMaxActiveBlocksPerMultiprocessor (tests/gpu.sh compares them for every variant).
 *
 * It assumes the driver's default split between L1 and shared memory, which gives shared memory as
 * much as the SM has; the driver's own query assumes the same. A kernel that asks for another
 * carve-out may reach lower occupancy.
 */

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
