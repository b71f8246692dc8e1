#include "record/occupancy.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The toolkit's header does not compile cleanly with our warnings. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-function"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop

static int clamp_int(int64_t value)
{
    return value > INT_MAX ? INT_MAX : value < 0 ? 0 : (int)value;
}

static size_t clamp_size(int64_t value)
{
    return value < 0 ? 0 : (size_t)value;
}

static cudaOccDeviceProp device_properties(const struct gpu *gpu)
{
    const int64_t *attributes = gpu->attributes;
    return (cudaOccDeviceProp){
        .computeMajor = gpu->compute_capability / 10,
        .computeMinor = gpu->compute_capability % 10,
        .maxThreadsPerBlock = clamp_int(attributes[GPU_max_threads_per_block]),
        .maxThreadsPerMultiprocessor = clamp_int(attributes[GPU_max_threads_per_sm]),
        .regsPerBlock = clamp_int(attributes[GPU_registers_per_block]),
        .regsPerMultiprocessor = clamp_int(attributes[GPU_registers_per_sm]),
        .warpSize = clamp_int(attributes[GPU_warp_size]),
        .sharedMemPerBlock = clamp_size(attributes[GPU_max_shared_bytes_per_block]),
        .sharedMemPerMultiprocessor = clamp_size(attributes[GPU_shared_bytes_per_sm]),
        .numSms = clamp_int(attributes[GPU_sm_count]),
        .sharedMemPerBlockOptin = clamp_size(attributes[GPU_max_shared_bytes_per_block_optin]),
        .reservedSharedMemPerBlock = clamp_size(attributes[GPU_reserved_shared_bytes_per_block]),
    };
}

/* OPTIN: a launch that needs more dynamic shared memory than the default limit asks for it. */
static cudaOccFuncAttributes function_attributes(const struct occupancy_input *input)
{
    return (cudaOccFuncAttributes){
        .maxThreadsPerBlock =
            input->max_threads_per_block > 0 ? input->max_threads_per_block : INT_MAX,
        .numRegs = input->registers,
        .sharedSizeBytes = clamp_size(input->static_shared_bytes),
        .partitionedGCConfig = PARTITIONED_GC_OFF,
        .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
        .maxDynamicSharedSizeBytes = clamp_size(input->dynamic_shared_bytes),
        .numBlockBarriers = input->barriers,
    };
}

/* Limits that the caller of the calculator must check; it computes shared memory in an int. */
static unsigned exceeded_limits(const struct gpu *gpu, const struct occupancy_input *input)
{
    unsigned exceeded = 0;
    int64_t shared_limit = gpu->attributes[GPU_max_shared_bytes_per_block_optin];
    if (input->block_threads > gpu->attributes[GPU_max_threads_per_block] ||
        (input->max_threads_per_block > 0 && input->block_threads > input->max_threads_per_block))
        exceeded |= OCCUPANCY_LIMIT_THREADS;
    if (input->static_shared_bytes > shared_limit ||
        input->dynamic_shared_bytes > shared_limit - input->static_shared_bytes)
        exceeded |= OCCUPANCY_LIMIT_SHARED;
    return exceeded;
}

static unsigned limiters_of(const cudaOccResult *result)
{
    unsigned limiters = 0;
    int blocks = result->activeBlocksPerMultiprocessor;
    if (result->blockLimitWarps == blocks)
        limiters |= OCCUPANCY_LIMIT_THREADS;
    if (result->blockLimitRegs == blocks)
        limiters |= OCCUPANCY_LIMIT_REGISTERS;
    if (result->blockLimitSharedMem == blocks)
        limiters |= OCCUPANCY_LIMIT_SHARED;
    if (result->blockLimitBlocks == blocks)
        limiters |= OCCUPANCY_LIMIT_BLOCKS;
    else if (result->blockLimitBarriers == blocks) /* equals the block limit for one barrier */
        limiters |= OCCUPANCY_LIMIT_BARRIERS;
    return limiters;
}

int occupancy_compute(const struct gpu *gpu, const struct occupancy_input *input,
                      struct occupancy *occupancy, struct error *error)
{
    *occupancy = (struct occupancy){0};
    if (input->block_threads <= 0 || input->registers < 0 || input->barriers < 0 ||
        input->static_shared_bytes < 0 || input->dynamic_shared_bytes < 0)
        return error_set(error, ERROR_CONFIG,
                         "impossible block of %d threads, %d registers, %lld + %lld bytes of "
                         "shared memory; none may be negative, and threads must be at least 1",
                         input->block_threads, input->registers,
                         (long long)input->static_shared_bytes,
                         (long long)input->dynamic_shared_bytes);
    occupancy->limiters = exceeded_limits(gpu, input);
    if (occupancy->limiters != 0)
        return 0;

    cudaOccDeviceProp properties = device_properties(gpu);
    cudaOccFuncAttributes attributes = function_attributes(input);
    cudaOccDeviceState state = {.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT};
    cudaOccResult result = {0};
    cudaOccError status = cudaOccMaxActiveBlocksPerMultiprocessor(
        &result, &properties, &attributes, &state, input->block_threads,
        attributes.maxDynamicSharedSizeBytes);
    if (status != CUDA_OCC_SUCCESS)
        return error_set(error, ERROR_CONFIG,
                         "cannot compute occupancy for '%s': the CUDA Toolkit that autotune was "
                         "built with does not know compute capability %d.%d; build with a newer "
                         "toolkit",
                         gpu->name, properties.computeMajor, properties.computeMinor);

    int warp_size = properties.warpSize;
    int warps = (input->block_threads - 1) / warp_size + 1;
    occupancy->blocks_per_sm = result.activeBlocksPerMultiprocessor;
    int warps_per_sm = properties.maxThreadsPerMultiprocessor / warp_size;
    occupancy->fraction = (double)occupancy->blocks_per_sm * warps / warps_per_sm;
    occupancy->limiters = limiters_of(&result);
    return 0;
}

char *occupancy_limiter_text(unsigned limiters, char buffer[OCCUPANCY_LIMITER_BYTES])
{
    static const struct {
        enum occupancy_limiter limiter;
        const char *name;
    } names[] = {
        {OCCUPANCY_LIMIT_THREADS, "threads"},   {OCCUPANCY_LIMIT_REGISTERS, "registers"},
        {OCCUPANCY_LIMIT_SHARED, "shared"},     {OCCUPANCY_LIMIT_BLOCKS, "blocks"},
        {OCCUPANCY_LIMIT_BARRIERS, "barriers"},
    };
    size_t used = 0;
    buffer[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if ((limiters & names[i].limiter) == 0)
            continue;
        int length = snprintf(buffer + used, OCCUPANCY_LIMITER_BYTES - used, "%s%s",
                              used > 0 ? "+" : "", names[i].name);
        if (length > 0)
            used += (size_t)length; /* all names fit in OCCUPANCY_LIMITER_BYTES */
    }
    if (used == 0)
        (void)snprintf(buffer, OCCUPANCY_LIMITER_BYTES, "-");
    return buffer;
}
