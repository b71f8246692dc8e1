#include "record/occupancy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define KIB INT64_C(1024)

static struct gpu known_gpu(const char *arch)
{
    struct gpu gpu;
    struct error error = {0};
    if (gpu_from_arch(arch, &gpu, &error) != 0)
        fail_msg("%s: %s", arch, error.message);
    return gpu;
}

/* Whether the toolkit of this build is too old for the architecture; from 9.0 back none is. */
static bool too_new(const struct gpu *gpu, int status)
{
    return status == ERROR_CONFIG && gpu->compute_capability >= 100;
}

static void expect(const char *arch, struct occupancy_input input, int blocks, double fraction,
                   const char *limiters)
{
    struct gpu gpu = known_gpu(arch);
    struct occupancy occupancy;
    struct error error = {0};
    char text[OCCUPANCY_LIMITER_BYTES];
    int status = occupancy_compute(&gpu, &input, &occupancy, &error);
    if (too_new(&gpu, status))
        return;
    if (status != 0)
        fail_msg("%s", error.message);
    occupancy_limiter_text(occupancy.limiters, text);
    if (occupancy.blocks_per_sm != blocks || fabs(occupancy.fraction - fraction) > 1e-9 ||
        strcmp(text, limiters) != 0)
        fail_msg("%s, %d threads, %d registers, %lld + %lld bytes: %d blocks (%d wanted), %.4f "
                 "(%.4f), %s (%s)",
                 arch, input.block_threads, input.registers, (long long)input.static_shared_bytes,
                 (long long)input.dynamic_shared_bytes, occupancy.blocks_per_sm, blocks,
                 occupancy.fraction, fraction, text, limiters);
}

static struct occupancy_input threads_registers(int threads, int registers)
{
    return (struct occupancy_input){.block_threads = threads, .registers = registers};
}

static struct occupancy_input shared(int threads, int64_t static_bytes, int64_t dynamic_bytes)
{
    return (struct occupancy_input){.block_threads = threads,
                                    .registers = 16,
                                    .static_shared_bytes = static_bytes,
                                    .dynamic_shared_bytes = dynamic_bytes};
}

/*
 * A warp gets its registers in units of 256, from the 16,384 of one of the SM's four parts:
 * 64 x 32 = 2048, 8 warps a part, 32 an SM, 4 blocks of 8 warps.
 * 65 x 32 = 2080, rounded up to 2304: 7 warps a part, 28 an SM, 3 blocks.
 */
static void registers_limit(void **state)
{
    (void)state;
    expect("sm_80", threads_registers(256, 64), 4, 32 / 64.0, "registers");
    expect("sm_80", threads_registers(256, 65), 3, 24 / 64.0, "registers");
    expect("sm_90", threads_registers(128, 168), 3, 12 / 64.0, "registers"); /* 3 warps a part */
    expect("sm_86", threads_registers(256, 48), 5, 40 / 48.0, "registers");  /* 10 warps a part */
    expect("sm_90", threads_registers(1024, 64), 1, 32 / 64.0, "registers");
    expect("sm_90", threads_registers(1024, 65), 0, 0, "registers");
}

static void threads_limit(void **state)
{
    (void)state;
    expect("sm_80", threads_registers(1024, 16), 2, 1, "threads");
    expect("sm_86", threads_registers(1024, 16), 1, 32 / 48.0, "threads");
    expect("sm_86", threads_registers(768, 16), 2, 1, "threads");
    expect("sm_75", threads_registers(256, 16), 4, 1, "threads");
    expect("sm_80", threads_registers(33, 16), 32, 1, "threads+blocks"); /* 2 warps each */
    expect("sm_80", threads_registers(1024, 32), 2, 1, "threads+registers");
}

static void blocks_limit(void **state)
{
    (void)state;
    expect("sm_80", threads_registers(32, 16), 32, 32 / 64.0, "blocks");
    expect("sm_86", threads_registers(32, 16), 16, 16 / 48.0, "blocks");
    expect("sm_89", threads_registers(32, 16), 24, 24 / 48.0, "blocks");
    expect("sm_90", threads_registers(1, 16), 32, 32 / 64.0, "blocks");
    expect("sm_120", threads_registers(32, 0), 24, 24 / 48.0, "blocks");
}

/* From 8.0 on each block costs 1 KiB more than it declares. */
static void shared_memory_limits(void **state)
{
    (void)state;
    expect("sm_80", shared(256, 40 * KIB, 0), 4, 32 / 64.0, "shared");  /* 164 / 41 */
    expect("sm_80", shared(256, 48 * KIB, 0), 3, 24 / 64.0, "shared");  /* 164 / 49 */
    expect("sm_86", shared(128, 24 * KIB, 0), 4, 16 / 48.0, "shared");  /* 100 / 25 */
    expect("sm_90", shared(256, 0, 113 * KIB), 2, 16 / 64.0, "shared"); /* 228 / 114 */
    expect("sm_90", shared(256, 0, 113 * KIB + 1), 1, 8 / 64.0, "shared");
    expect("sm_90", shared(256, 20 * KIB, 17 * KIB), 6, 48 / 64.0, "shared"); /* 228 / 38 */
    expect("sm_75", shared(128, 32 * KIB, 0), 2, 8 / 32.0, "shared");
    expect("sm_90", shared(256, 27 * KIB + 512, 0), 8, 1, "threads+shared"); /* 228 / 28.5 */
}

static void the_largest_block_is_that_of_the_opt_in(void **state)
{
    (void)state;
    expect("sm_80", shared(256, 0, 163 * KIB), 1, 8 / 64.0, "shared");
    expect("sm_80", shared(256, 0, 163 * KIB + 1), 0, 0, "shared");
    expect("sm_80", shared(256, KIB, 162 * KIB), 1, 8 / 64.0, "shared");
    expect("sm_80", shared(256, KIB, 162 * KIB + 1), 0, 0, "shared");
    expect("sm_90", shared(256, 0, 227 * KIB), 1, 8 / 64.0, "shared");
    expect("sm_120", shared(256, 0, 99 * KIB), 1, 8 / 48.0, "shared");
    expect("sm_75", shared(256, 0, 64 * KIB), 1, 8 / 32.0, "shared");
    expect("sm_90", shared(256, 0, INT64_C(1) << 40), 0, 0, "shared");
    expect("sm_90", shared(256, INT64_MAX, INT64_MAX), 0, 0, "shared");
}

static void a_block_beyond_device_or_launch_bounds_does_not_run(void **state)
{
    (void)state;
    struct occupancy_input bounded = threads_registers(257, 16);
    bounded.max_threads_per_block = 256;
    expect("sm_90", bounded, 0, 0, "threads");
    bounded.block_threads = 256;
    expect("sm_90", bounded, 8, 1, "threads");
    expect("sm_90", threads_registers(1025, 16), 0, 0, "threads");
    expect("sm_90", threads_registers(2000000000, 16), 0, 0, "threads");
}

/* Two named barriers a block slot on 9.0 and 10.0, one on 12.0; no limit before. */
static void named_barriers_limit(void **state)
{
    (void)state;
    struct occupancy_input input = threads_registers(64, 16);
    input.barriers = 1;
    expect("sm_90", input, 32, 1, "threads+blocks");
    input.barriers = 4;
    expect("sm_90", input, 16, 32 / 64.0, "barriers");
    expect("sm_80", input, 32, 1, "threads+blocks");
    input.barriers = 2;
    expect("sm_90", input, 32, 1, "threads+blocks");
    expect("sm_120", input, 12, 24 / 48.0, "barriers");
}

static void the_table_agrees_with_the_calculator_on_blocks(void **state)
{
    static const char *const archs[] = {"sm_75",  "sm_80",  "sm_86",  "sm_87",  "sm_89", "sm_90",
                                        "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"};
    (void)state;
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        struct gpu gpu = known_gpu(archs[i]);
        struct occupancy_input input = threads_registers(32, 16);
        struct occupancy occupancy;
        int status = occupancy_compute(&gpu, &input, &occupancy, NULL);
        if (too_new(&gpu, status))
            continue;
        assert_int_equal(status, 0);
        assert_int_equal(occupancy.blocks_per_sm, gpu.attributes[GPU_max_blocks_per_sm]);
    }
}

static void impossible_questions_are_errors(void **state)
{
    (void)state;
    struct gpu gpu = known_gpu("sm_90");
    struct occupancy occupancy;
    struct error error = {0};
    struct occupancy_input input = threads_registers(0, 16);
    assert_int_equal(occupancy_compute(&gpu, &input, &occupancy, &error), ERROR_CONFIG);
    input = threads_registers(256, -1);
    assert_int_equal(occupancy_compute(&gpu, &input, &occupancy, &error), ERROR_CONFIG);
    input = shared(256, -1, 0);
    assert_int_equal(occupancy_compute(&gpu, &input, &occupancy, &error), ERROR_CONFIG);
    input = threads_registers(256, 16);
    gpu.compute_capability = 990;
    assert_int_equal(occupancy_compute(&gpu, &input, &occupancy, &error), ERROR_CONFIG);
    assert_non_null(strstr(error.message, "99.0"));
    gpu = (struct gpu){.compute_capability = 90}; /* a device that says nothing of itself */
    assert_int_equal(occupancy_compute(&gpu, &input, &occupancy, &error), 0);
    assert_int_equal(occupancy.blocks_per_sm, 0);
    gpu = known_gpu("sm_90");
    gpu.attributes[GPU_warp_size] = 0;
    assert_int_equal(occupancy_compute(&gpu, &input, &occupancy, &error), ERROR_CONFIG);
}

static void limiters_read_as_words(void **state)
{
    char text[OCCUPANCY_LIMITER_BYTES];
    (void)state;
    assert_string_equal(occupancy_limiter_text(0, text), "-");
    assert_string_equal(occupancy_limiter_text(OCCUPANCY_LIMIT_REGISTERS, text), "registers");
    assert_string_equal(
        occupancy_limiter_text(OCCUPANCY_LIMIT_BLOCKS | OCCUPANCY_LIMIT_SHARED, text),
        "shared+blocks");
    assert_string_equal(occupancy_limiter_text(~0u, text),
                        "threads+registers+shared+blocks+barriers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_limit),
        cmocka_unit_test(threads_limit),
        cmocka_unit_test(blocks_limit),
        cmocka_unit_test(shared_memory_limits),
        cmocka_unit_test(the_largest_block_is_that_of_the_opt_in),
        cmocka_unit_test(a_block_beyond_device_or_launch_bounds_does_not_run),
        cmocka_unit_test(named_barriers_limit),
        cmocka_unit_test(the_table_agrees_with_the_calculator_on_blocks),
        cmocka_unit_test(impossible_questions_are_errors),
        cmocka_unit_test(limiters_read_as_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
