/*
 * The attributes of a GPU that expressions can name: sm_count, l2_bytes and so on.
 *
 * To add one, add a line to GPU_ATTRIBUTES and its value for each architecture to record/gpu.c.
 * Expressions and `autotune devices` follow.
 */
#ifndef AUTOTUNE_DEVICE_ATTRIBUTES_H
#define AUTOTUNE_DEVICE_ATTRIBUTES_H

/* X(name in expressions, CU_DEVICE_ATTRIBUTE_ suffix, description with unit) */
#define GPU_ATTRIBUTES(X)                                                                          \
    X(sm_count, MULTIPROCESSOR_COUNT, "streaming multiprocessors")                                 \
    X(warp_size, WARP_SIZE, "threads per warp")                                                    \
    X(max_threads_per_block, MAX_THREADS_PER_BLOCK, "maximum threads per block")                   \
    X(max_threads_per_sm, MAX_THREADS_PER_MULTIPROCESSOR, "maximum resident threads per SM")       \
    X(max_blocks_per_sm, MAX_BLOCKS_PER_MULTIPROCESSOR, "maximum resident blocks per SM")          \
    X(registers_per_block, MAX_REGISTERS_PER_BLOCK, "maximum 32-bit registers per block")          \
    X(registers_per_sm, MAX_REGISTERS_PER_MULTIPROCESSOR, "32-bit registers per SM")               \
    X(max_shared_bytes_per_block, MAX_SHARED_MEMORY_PER_BLOCK,                                     \
      "maximum shared memory per block without opting in to more, bytes")                          \
    X(max_shared_bytes_per_block_optin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,                         \
      "maximum shared memory per block, bytes")                                                    \
    X(shared_bytes_per_sm, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, "shared memory per SM, bytes")    \
    X(reserved_shared_bytes_per_block, RESERVED_SHARED_MEMORY_PER_BLOCK,                           \
      "shared memory reserved by the driver per block, bytes")                                     \
    X(l2_bytes, L2_CACHE_SIZE, "L2 cache, bytes")                                                  \
    X(clock_khz, CLOCK_RATE, "maximum SM clock, kHz")                                              \
    X(memory_clock_khz, MEMORY_CLOCK_RATE, "maximum memory clock, kHz")                            \
    X(memory_bus_bits, GLOBAL_MEMORY_BUS_WIDTH, "memory bus width, bits")                          \
    X(cooperative_launch, COOPERATIVE_LAUNCH, "1 if cooperative launches are supported")

enum gpu_attribute {
#define X(name, suffix, text) GPU_##name,
    GPU_ATTRIBUTES(X)
#undef X
        GPU_ATTRIBUTE_COUNT
};

/* The name and description of an attribute. */
const char *gpu_attribute_name(enum gpu_attribute attribute);
const char *gpu_attribute_text(enum gpu_attribute attribute);

/*
 * The names that a GPU binds in expressions: compute_capability, memory_bytes, then the attributes
 * in order; terminated by NULL.
 */
const char *const *gpu_binding_names(void);

#endif
