/*
 * What is known about a GPU: read from the driver by the device worker, or, in static mode, taken
 * from a table of the architectures' limits. Nothing here calls CUDA.
 *
 * To add an attribute: a line in GPU_ATTRIBUTES (`autotune devices` and expressions follow), and
 * its value for each architecture in gpu.c.
 */
#ifndef AUTOTUNE_GPU_H
#define AUTOTUNE_GPU_H

#include "error.h"
#include "value.h"

#include <jansson.h>
#include <stdint.h>

/* X(name in expressions, CU_DEVICE_ATTRIBUTE_ suffix, what it is with its unit) */
#define GPU_ATTRIBUTES(X)                                                                          \
    X(sm_count, MULTIPROCESSOR_COUNT, "streaming multiprocessors")                                 \
    X(warp_size, WARP_SIZE, "threads of a warp")                                                   \
    X(max_threads_per_block, MAX_THREADS_PER_BLOCK, "threads of a block, at most")                 \
    X(max_threads_per_sm, MAX_THREADS_PER_MULTIPROCESSOR, "resident threads of an SM, at most")    \
    X(max_blocks_per_sm, MAX_BLOCKS_PER_MULTIPROCESSOR, "resident blocks of an SM, at most")       \
    X(registers_per_block, MAX_REGISTERS_PER_BLOCK, "32-bit registers of a block, at most")        \
    X(registers_per_sm, MAX_REGISTERS_PER_MULTIPROCESSOR, "32-bit registers of an SM")             \
    X(max_shared_bytes_per_block, MAX_SHARED_MEMORY_PER_BLOCK,                                     \
      "shared memory of a block without asking for more, bytes")                                   \
    X(max_shared_bytes_per_block_optin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,                         \
      "shared memory of a block, at most, bytes")                                                  \
    X(shared_bytes_per_sm, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, "shared memory of an SM, bytes")  \
    X(reserved_shared_bytes_per_block, RESERVED_SHARED_MEMORY_PER_BLOCK,                           \
      "shared memory the driver takes from each block, bytes")                                     \
    X(l2_bytes, L2_CACHE_SIZE, "second-level cache, bytes")                                        \
    X(clock_khz, CLOCK_RATE, "highest SM clock, kHz")                                              \
    X(memory_clock_khz, MEMORY_CLOCK_RATE, "highest memory clock, kHz")                            \
    X(memory_bus_bits, GLOBAL_MEMORY_BUS_WIDTH, "width of the memory bus, bits")                   \
    X(cooperative_launch, COOPERATIVE_LAUNCH, "1 where cooperative launches work")

enum gpu_attribute {
#define X(name, suffix, text) GPU_##name,
    GPU_ATTRIBUTES(X)
#undef X
        GPU_ATTRIBUTE_COUNT
};

struct gpu {
    char name[128];         /* "NVIDIA H200"; in static mode the card whose limits stand in */
    char uuid[48];          /* "GPU-…"; "" in static mode */
    char arch[16];          /* "sm_90" */
    char driver[32];        /* CUDA version of the driver, "13.0"; "" in static mode */
    int compute_capability; /* 90 for 9.0, 120 for 12.0 */
    int64_t memory_bytes;
    int64_t attributes[GPU_ATTRIBUTE_COUNT];
};

/* The name and description of an attribute. */
const char *gpu_attribute_name(enum gpu_attribute attribute);
const char *gpu_attribute_text(enum gpu_attribute attribute);

/*
 * Fills `gpu` for `arch` ("sm_90", "sm_90a", "compute_90") from a table. `gpu->arch` becomes
 * "sm_…", with the suffix kept, so that the compiler is asked for a cubin.
 *
 * The limits per compute capability are those of the CUDA C++ Programming Guide, "Technical
 * Specifications per Compute Capability"; occupancy rests on them alone. SM count, L2, clocks, bus
 * and memory differ from card to card, so the best-known card of each architecture stands in and
 * lends its name. Of those figures these are approximate:
 * - memory is the nominal size in decimal gigabytes; a driver reports a few per cent more or less;
 * - memory clocks of Jetson AGX Orin, Jetson AGX Thor and GB10 follow from the published bandwidth
 *   (2 transfers a clock over the bus), not from a driver;
 * - the B300 has the SM count, L2 and clocks of the B200.
 *
 * Returns 0, or ERROR_USAGE naming the architectures that are known.
 */
int gpu_from_arch(const char *arch, struct gpu *gpu, struct error *error);

/* Adds compute_capability, memory_bytes and every attribute, for expressions. */
void gpu_bindings(const struct gpu *gpu, struct bindings *bindings);

/* The names gpu_bindings() adds, in order; NULL at the end. */
const char *const *gpu_binding_names(void);

/* JSON object, a new reference; and back: 0 or ERROR_WORKER naming the missing member. */
json_t *gpu_to_json(const struct gpu *gpu);
int gpu_from_json(const json_t *object, struct gpu *gpu, struct error *error);

#endif
