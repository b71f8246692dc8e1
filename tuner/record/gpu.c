#include "record/gpu.h"

#include "base/alloc.h"
#include "base/json_text.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
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

#define KIB (INT64_C(1) << 10)
#define MIB (INT64_C(1) << 20)
#define MHZ INT64_C(1000)            /* in kHz */
#define GIGABYTE INT64_C(1000000000) /* decimal, as on the box */

/* The same for all compute capabilities from 7.5 to 12.1. */
enum {
    WARP_SIZE = 32,
    THREADS_PER_BLOCK = 1024,
    REGISTERS = 64 * 1024,
    SHARED_BYTES_PER_BLOCK = 48 * 1024,
    RESERVED_SHARED_BYTES = 1024, /* per block, from 8.0 on */
};

/* Limits of a compute capability, then the values of the card that represents it. */
struct architecture {
    int compute_capability;
    int max_threads_per_sm;
    int max_blocks_per_sm;
    int shared_kib_per_sm;
    int shared_kib_per_block_optin;
    const char *card;
    int sm_count;
    int l2_mib;
    int clock_mhz;
    int memory_clock_mhz;
    int memory_bus_bits;
    int memory_gigabytes;
};

/* gpu_from_arch() in gpu.h says which values are approximate. */
static const struct architecture architectures[] = {
    {75, 1024, 16, 64, 64, "Tesla T4", 40, 4, 1590, 5001, 256, 16},
    {80, 2048, 32, 164, 163, "NVIDIA A100-SXM4-80GB", 108, 40, 1410, 1593, 5120, 80},
    {86, 1536, 16, 100, 99, "NVIDIA GeForce RTX 3090", 82, 6, 1695, 9751, 384, 24},
    {87, 1536, 16, 164, 163, "NVIDIA Jetson AGX Orin", 16, 4, 1300, 3200, 256, 64},
    {89, 1536, 24, 100, 99, "NVIDIA GeForce RTX 4090", 128, 72, 2520, 10501, 384, 24},
    {90, 2048, 32, 228, 227, "NVIDIA H200", 132, 60, 1980, 3201, 6144, 141},
    {100, 2048, 32, 228, 227, "NVIDIA B200", 148, 126, 1965, 3996, 8192, 180},
    {103, 2048, 32, 228, 227, "NVIDIA B300", 148, 126, 1965, 3996, 8192, 288},
    {110, 1536, 24, 228, 227, "NVIDIA Jetson AGX Thor", 20, 32, 1575, 4266, 256, 128},
    {120, 1536, 24, 100, 99, "NVIDIA GeForce RTX 5090", 170, 96, 2407, 14001, 512, 32},
    {121, 1536, 24, 100, 99, "NVIDIA GB10", 48, 24, 2418, 4266, 256, 128},
};

enum { ARCHITECTURE_COUNT = sizeof architectures / sizeof *architectures };

/* Splits "sm_90a" into 90 and "a"; returns 0 if `arch` does not have that form. */
static int parse_arch(const char *arch, const char **suffix)
{
    static const char *const prefixes[] = {"sm_", "compute_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t length = strlen(prefixes[i]);
        if (strncmp(arch, prefixes[i], length) != 0)
            continue;
        const char *digits = arch + length;
        size_t digit_count = strspn(digits, "0123456789");
        if (digit_count < 2 || digit_count > 4)
            return 0;
        *suffix = digits + digit_count;
        if (strcmp(*suffix, "") != 0 && strcmp(*suffix, "a") != 0 && strcmp(*suffix, "f") != 0)
            return 0;
        return (int)strtol(digits, NULL, 10);
    }
    return 0;
}

static int unknown_arch(const char *arch, struct error *error)
{
    char *known = alloc_string("");
    for (size_t i = 0; i < ARCHITECTURE_COUNT; i++)
        alloc_append(&known, "%ssm_%d", i > 0 ? ", " : "", architectures[i].compute_capability);
    int status =
        error_set(error, ERROR_USAGE, "unknown architecture '%s'; choose one of %s", arch, known);
    free(known);
    return status;
}

static void fill_attributes(const struct architecture *from, int64_t *attributes)
{
    attributes[GPU_sm_count] = from->sm_count;
    attributes[GPU_warp_size] = WARP_SIZE;
    attributes[GPU_max_threads_per_block] = THREADS_PER_BLOCK;
    attributes[GPU_max_threads_per_sm] = from->max_threads_per_sm;
    attributes[GPU_max_blocks_per_sm] = from->max_blocks_per_sm;
    attributes[GPU_registers_per_block] = REGISTERS;
    attributes[GPU_registers_per_sm] = REGISTERS;
    attributes[GPU_max_shared_bytes_per_block] = SHARED_BYTES_PER_BLOCK;
    attributes[GPU_max_shared_bytes_per_block_optin] = from->shared_kib_per_block_optin * KIB;
    attributes[GPU_shared_bytes_per_sm] = from->shared_kib_per_sm * KIB;
    attributes[GPU_reserved_shared_bytes_per_block] =
        from->compute_capability >= 80 ? RESERVED_SHARED_BYTES : 0;
    attributes[GPU_l2_bytes] = from->l2_mib * MIB;
    attributes[GPU_clock_khz] = from->clock_mhz * MHZ;
    attributes[GPU_memory_clock_khz] = from->memory_clock_mhz * MHZ;
    attributes[GPU_memory_bus_bits] = from->memory_bus_bits;
    attributes[GPU_cooperative_launch] = 1;
}

int gpu_from_arch(const char *arch, struct gpu *gpu, struct error *error)
{
    const char *suffix = "";
    int compute_capability = parse_arch(arch, &suffix);
    const struct architecture *found = NULL;
    for (size_t i = 0; i < ARCHITECTURE_COUNT; i++)
        if (architectures[i].compute_capability == compute_capability)
            found = &architectures[i];
    if (found == NULL)
        return unknown_arch(arch, error);

    *gpu = (struct gpu){.compute_capability = compute_capability,
                        .memory_bytes = found->memory_gigabytes * GIGABYTE};
    (void)snprintf(gpu->name, sizeof gpu->name, "%s", found->card);
    (void)snprintf(gpu->arch, sizeof gpu->arch, "sm_%d%s", compute_capability, suffix);
    fill_attributes(found, gpu->attributes);
    return 0;
}

void gpu_bindings(const struct gpu *gpu, struct bindings *bindings)
{
    bindings_set(bindings, "compute_capability", value_integer(gpu->compute_capability));
    bindings_set(bindings, "memory_bytes", value_integer(gpu->memory_bytes));
    for (size_t i = 0; i < GPU_ATTRIBUTE_COUNT; i++)
        bindings_set(bindings, gpu_attribute_name(i), value_integer(gpu->attributes[i]));
}

double gpu_memory_gb_per_s(const struct gpu *gpu)
{
    /* two transfers a clock; kHz × bytes = 10^3 bytes a second */
    return 2.0 * (double)gpu->attributes[GPU_memory_clock_khz] *
           (double)gpu->attributes[GPU_memory_bus_bits] / 8 * 1e-6;
}

/* The members that are texts. */
static const struct text_member {
    const char *name;
    size_t offset, bytes;
} texts[] = {
#define X(name)                                                                                    \
    {                                                                                              \
#name, offsetof(struct gpu, name), sizeof((struct gpu *)NULL)->name                        \
    }
    X(name), X(uuid), X(arch), X(driver)
#undef X
};

enum { TEXTS = sizeof texts / sizeof *texts };

json_t *gpu_to_json(const struct gpu *gpu)
{
    json_t *attributes = json_object();
    for (size_t i = 0; i < GPU_ATTRIBUTE_COUNT; i++)
        json_object_set_new(attributes, gpu_attribute_name(i), json_integer(gpu->attributes[i]));

    json_t *object = json_object();
    for (size_t i = 0; i < TEXTS; i++)
        json_object_set_new(object, texts[i].name, json_text((const char *)gpu + texts[i].offset));
    json_object_set_new(object, "compute_capability", json_integer(gpu->compute_capability));
    json_object_set_new(object, "memory_bytes", json_integer(gpu->memory_bytes));
    json_object_set_new(object, "attributes", attributes);
    return object;
}

static int missing(const char *member, struct error *error)
{
    return error_set(error, ERROR_WORKER,
                     "the device description has no valid '%s'; coordinator and worker must be the "
                     "same build of autotune",
                     member);
}

static int text_from_json(const json_t *object, const char *member, char *text, size_t size,
                          struct error *error)
{
    const char *value = json_string_value(json_object_get(object, member));
    if (value == NULL || strlen(value) >= size)
        return missing(member, error);
    memcpy(text, value, strlen(value) + 1);
    return 0;
}

static int integer_from_json(const json_t *object, const char *member, int64_t low, int64_t high,
                             int64_t *integer, struct error *error)
{
    const json_t *value = json_object_get(object, member);
    if (!json_is_integer(value) || json_integer_value(value) < low ||
        json_integer_value(value) > high)
        return missing(member, error);
    *integer = json_integer_value(value);
    return 0;
}

int gpu_from_json(const json_t *object, struct gpu *gpu, struct error *error)
{
    struct gpu read = {0};
    int64_t compute_capability = 0;
    const json_t *attributes = json_object_get(object, "attributes");
    int status = 0;
    for (size_t i = 0; i < TEXTS && status == 0; i++)
        status = text_from_json(object, texts[i].name, (char *)&read + texts[i].offset,
                                texts[i].bytes, error);
    if (status == 0)
        status =
            integer_from_json(object, "compute_capability", 0, 9999, &compute_capability, error);
    if (status == 0)
        status = integer_from_json(object, "memory_bytes", 0, INT64_MAX, &read.memory_bytes, error);
    for (size_t i = 0; i < GPU_ATTRIBUTE_COUNT && status == 0; i++)
        status = integer_from_json(attributes, gpu_attribute_name(i), 0, INT64_MAX,
                                   &read.attributes[i], error);
    read.compute_capability = (int)compute_capability;
    if (status == 0)
        *gpu = read;
    return status;
}

static bool are_close(int64_t a, int64_t b)
{
    return fabs((double)a - (double)b) <= 0.01 * (double)(a > b ? a : b);
}

/* Clocks may differ a little; everything else is what variants are chosen by. */
static bool have_alike_attributes(const struct gpu *a, const struct gpu *b)
{
    bool alike = true;
    for (int i = 0; i < GPU_ATTRIBUTE_COUNT; i++)
        alike = alike && (i == GPU_clock_khz || i == GPU_memory_clock_khz
                              ? are_close(a->attributes[i], b->attributes[i])
                              : a->attributes[i] == b->attributes[i]);
    return alike;
}

bool gpu_alike(const struct gpu *a, const struct gpu *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->arch, b->arch) == 0 &&
           a->memory_bytes == b->memory_bytes && have_alike_attributes(a, b);
}

/* --- occupancy --- */

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
