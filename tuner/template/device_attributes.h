/*
 * The attributes of a GPU that expressions can name: sm_count, l2_bytes and so on.
 *
 * To add one: a line in GPU_ATTRIBUTES (`autotune devices` and expressions follow), and its value
 * for each architecture in record/gpu.c.
 */
#ifndef AUTOTUNE_DEVICE_ATTRIBUTES_H
#define AUTOTUNE_DEVICE_ATTRIBUTES_H

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

/* The name and description of an attribute. */
const char *gpu_attribute_name(enum gpu_attribute attribute);
const char *gpu_attribute_text(enum gpu_attribute attribute);

/*
 * Every name that a GPU binds in expressions: compute_capability, memory_bytes, then the attributes
 * in order; NULL at the end.
 */
const char *const *gpu_binding_names(void);

#endif
