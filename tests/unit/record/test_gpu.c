#include "base/alloc.h"

#include "record/gpu.h"

#include "unit/test.h"

#include <math.h>

static struct gpu known_gpu(const char *arch)
{
    struct gpu gpu;
    struct error error = {0};
    if (gpu_from_arch(arch, &gpu, &error) != 0)
        fail_msg("%s: %s", arch, error.message);
    return gpu;
}

/* Twice the memory clock times the bus is the published bandwidth, within a few per cent. */
UNIT_TEST(memory_figures_give_the_published_bandwidth)
{
    static const struct {
        const char *arch;
        double gigabytes_per_s;
    } published[] = {{"sm_75", 320},  {"sm_80", 2039},  {"sm_86", 936},   {"sm_87", 204.8},
                     {"sm_89", 1008}, {"sm_90", 4800},  {"sm_100", 8000}, {"sm_103", 8000},
                     {"sm_110", 273}, {"sm_120", 1792}, {"sm_121", 273}};
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        struct gpu gpu = known_gpu(published[i].arch);
        double bandwidth = 2.0 * (double)gpu.attributes[GPU_memory_clock_khz] * 1e3 *
                           (double)gpu.attributes[GPU_memory_bus_bits] / 8 / 1e9;
        if (bandwidth < 0.97 * published[i].gigabytes_per_s ||
            bandwidth > 1.03 * published[i].gigabytes_per_s)
            fail_msg("%s: %.1f GB/s", published[i].arch, bandwidth);
    }
}

UNIT_TEST(unknown_architectures_are_refused_with_the_known_ones)
{
    static const char *const wrong[] = {"",       "90",     "sm_",           "sm_9",
                                        "sm_91",  "sm_90b", "sm_90aa",       "SM_90",
                                        "sm_-90", "sm_ 90", "sm_99999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct gpu gpu;
        struct error error = {0};
        assert_int_equal(gpu_from_arch(wrong[i], &gpu, &error), ERROR_USAGE);
        assert_non_null(strstr(error.message, "sm_75, sm_80"));
        assert_non_null(strstr(error.message, "sm_121"));
    }
}

UNIT_TEST(expressions_see_every_attribute_by_name)
{
    struct gpu gpu = known_gpu("sm_90");
    struct bindings bindings = {0};
    gpu_bindings(&gpu, &bindings);
    assert_int_equal(bindings_find(&bindings, "compute_capability")->as.integer, 90);
    assert_int_equal(bindings_find(&bindings, "sm_count")->as.integer, 132);
    assert_int_equal(bindings_find(&bindings, "max_threads_per_sm")->as.integer, 2048);
    assert_int_equal(bindings_find(&bindings, "memory_bytes")->as.integer, 141000000000);
    const char *const *names = gpu_binding_names();
    size_t count = 0;
    for (; names[count] != NULL; count++)
        assert_string_equal(names[count], bindings.items[count].name);
    assert_int_equal(count, bindings.count);
    assert_int_equal(count, GPU_ATTRIBUTE_COUNT + 2);
    bindings_release(&bindings);
    assert_string_equal(gpu_attribute_name(GPU_l2_bytes), "l2_bytes");
    assert_string_equal(gpu_attribute_text(GPU_sm_count), "streaming multiprocessors");
}

/* --- occupancy --- */

#define KIB INT64_C(1024)

/* Whether the toolkit of this build is too old for the architecture; from 9.0 back none is. */
static bool too_new(const struct gpu *gpu, int status)
{
    return status == ERROR_CONFIG && gpu->compute_capability >= 100;
}

/*
 * A warp gets its registers in units of 256, from the 16,384 of one of the SM's four parts:
 * 64 x 32 = 2048, 8 warps a part, 32 an SM, 4 blocks of 8 warps.
 * 65 x 32 = 2080, rounded up to 2304: 7 warps a part, 28 an SM, 3 blocks.
 * From 8.0 on each block costs 1 KiB of shared memory more than it declares. There are two named barriers per block
 * slot on 9.0 and 10.0, and one on 12.0; on older GPUs, they set no limit.
 */
UNIT_TEST(occupancy_is_limited)
{
    static const struct {
        const char *arch;
        struct occupancy_input
            input; /* threads, registers, static and dynamic bytes, bounds, barriers */
        int blocks;
        double fraction;
        const char *limiters;
    } cases[] = {
        {"sm_80", {256, 64, 0, 0, 0, 0}, 4, 32 / 64.0, "registers"},
        {"sm_80", {256, 65, 0, 0, 0, 0}, 3, 24 / 64.0, "registers"},
        {"sm_90", {128, 168, 0, 0, 0, 0}, 3, 12 / 64.0, "registers"}, /* 3 warps a part */
        {"sm_86", {256, 48, 0, 0, 0, 0}, 5, 40 / 48.0, "registers"},  /* 10 warps a part */
        {"sm_90", {1024, 64, 0, 0, 0, 0}, 1, 32 / 64.0, "registers"},
        {"sm_90", {1024, 65, 0, 0, 0, 0}, 0, 0, "registers"},
        {"sm_80", {1024, 16, 0, 0, 0, 0}, 2, 1, "threads"},
        {"sm_86", {1024, 16, 0, 0, 0, 0}, 1, 32 / 48.0, "threads"},
        {"sm_86", {768, 16, 0, 0, 0, 0}, 2, 1, "threads"},
        {"sm_75", {256, 16, 0, 0, 0, 0}, 4, 1, "threads"},
        {"sm_80", {33, 16, 0, 0, 0, 0}, 32, 1, "threads+blocks"}, /* 2 warps each */
        {"sm_80", {1024, 32, 0, 0, 0, 0}, 2, 1, "threads+registers"},
        {"sm_80", {256, 16, 40 * KIB, 0, 0, 0}, 4, 32 / 64.0, "shared"},  /* 164 / 41 */
        {"sm_80", {256, 16, 48 * KIB, 0, 0, 0}, 3, 24 / 64.0, "shared"},  /* 164 / 49 */
        {"sm_86", {128, 16, 24 * KIB, 0, 0, 0}, 4, 16 / 48.0, "shared"},  /* 100 / 25 */
        {"sm_90", {256, 16, 0, 113 * KIB, 0, 0}, 2, 16 / 64.0, "shared"}, /* 228 / 114 */
        {"sm_90", {256, 16, 0, 113 * KIB + 1, 0, 0}, 1, 8 / 64.0, "shared"},
        {"sm_90", {256, 16, 20 * KIB, 17 * KIB, 0, 0}, 6, 48 / 64.0, "shared"}, /* 228 / 38 */
        {"sm_75", {128, 16, 32 * KIB, 0, 0, 0}, 2, 8 / 32.0, "shared"},
        {"sm_90", {256, 16, 27 * KIB + 512, 0, 0, 0}, 8, 1, "threads+shared"}, /* 228 / 28.5 */
        /* a block beyond the device's or the kernel's launch bounds does not run */
        {"sm_90", {257, 16, 0, 0, 256, 0}, 0, 0, "threads"},
        {"sm_90", {256, 16, 0, 0, 256, 0}, 8, 1, "threads"},
        {"sm_90", {1025, 16, 0, 0, 0, 0}, 0, 0, "threads"},
        {"sm_90", {2000000000, 16, 0, 0, 0, 0}, 0, 0, "threads"},
        {"sm_90", {64, 16, 0, 0, 0, 1}, 32, 1, "threads+blocks"},
        {"sm_90", {64, 16, 0, 0, 0, 4}, 16, 32 / 64.0, "barriers"},
        {"sm_80", {64, 16, 0, 0, 0, 4}, 32, 1, "threads+blocks"},
        {"sm_90", {64, 16, 0, 0, 0, 2}, 32, 1, "threads+blocks"},
        {"sm_120", {64, 16, 0, 0, 0, 2}, 12, 24 / 48.0, "barriers"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gpu gpu = known_gpu(cases[i].arch);
        struct occupancy occupancy;
        struct error error = {0};
        char text[OCCUPANCY_LIMITER_BYTES];
        int status = occupancy_compute(&gpu, &cases[i].input, &occupancy, &error);
        if (too_new(&gpu, status))
            continue;
        if (status != 0)
            fail_msg("%s", error.message);
        occupancy_limiter_text(occupancy.limiters, text);
        if (occupancy.blocks_per_sm != cases[i].blocks ||
            fabs(occupancy.fraction - cases[i].fraction) > 1e-9 ||
            strcmp(text, cases[i].limiters) != 0)
            fail_msg("case %zu: %d blocks, %.4f, %s", i, occupancy.blocks_per_sm,
                     occupancy.fraction, text);
    }
}

UNIT_TEST(the_table_agrees_with_the_calculator_on_blocks)
{
    static const char *const archs[] = {"sm_75",  "sm_80",  "sm_86",  "sm_87",  "sm_89", "sm_90",
                                        "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"};
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        struct gpu gpu = known_gpu(archs[i]);
        struct occupancy_input input = {.block_threads = 32, .registers = 16};
        struct occupancy occupancy;
        int status = occupancy_compute(&gpu, &input, &occupancy, NULL);
        if (too_new(&gpu, status))
            continue;
        assert_int_equal(status, 0);
        assert_int_equal(occupancy.blocks_per_sm, gpu.attributes[GPU_max_blocks_per_sm]);
    }
}
