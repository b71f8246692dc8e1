#include "report/analysis.h"

#include "record/gpu.h"
#include "record/occupancy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The figures of a block, with the occupancy that the calculator gives it. */
static struct kernel_stats figures_of(const struct gpu *gpu, int threads, int registers,
                                      int64_t shared_bytes)
{
    struct occupancy_input input = {
        .block_threads = threads, .registers = registers, .static_shared_bytes = shared_bytes};
    struct occupancy occupancy;
    assert_int_equal(occupancy_compute(gpu, &input, &occupancy, NULL), 0);
    return (struct kernel_stats){.known = true,
                                 .registers = registers,
                                 .static_shared_bytes = shared_bytes,
                                 .block_threads = threads,
                                 .blocks_per_sm = occupancy.blocks_per_sm,
                                 .occupancy = occupancy.fraction,
                                 .limiters = occupancy.limiters};
}

static void check(int threads, int registers, int64_t shared_bytes, const char *expected)
{
    struct gpu gpu;
    struct headroom headroom;
    char text[HEADROOM_TEXT_BYTES];
    assert_int_equal(gpu_from_arch("sm_90", &gpu, NULL), 0);
    struct kernel_stats figures = figures_of(&gpu, threads, registers, shared_bytes);
    headroom_find(&gpu, &figures, &headroom);
    assert_string_equal(headroom_text(&headroom, text), expected);
}

/* An H200's SM has 65,536 registers, given out 256 to a warp at a time, and 64 warps. */
static void test_registers(void **state)
{
    (void)state;
    /* 8 warps of 40 x 32 = 1,280 registers: six blocks; for seven each warp would have 1,170, but
       they come in 256: 1,024, and then there are eight. No block packs more than those 48 warps.
     */
    check(256, 40, 0, "registers <= 32: 100 %");
    check(256, 33, 0, "registers <= 32: 100 %");
    check(256, 32, 0, "");
}

/* 228 KB of shared memory, of which the driver takes 1 KB a block. */
static void test_shared_memory(void **state)
{
    (void)state;
    /* (46 + 1) KB four times; five are (44.5 + 1) */
    check(256, 32, 46 * 1024, "shared <= 45568 B: 62 %");
}

/* Blocks of 640 threads leave 4 warps of 64 free; those of 512 and less none. */
static void test_threads(void **state)
{
    (void)state;
    check(640, 32, 0, "block of 512: 100 %");
}

static void test_figures_that_are_not_known(void **state)
{
    (void)state;
    struct gpu gpu;
    struct headroom headroom;
    char text[HEADROOM_TEXT_BYTES];
    struct kernel_stats figures = {0};
    assert_int_equal(gpu_from_arch("sm_90", &gpu, NULL), 0);
    headroom_find(&gpu, &figures, &headroom);
    assert_string_equal(headroom_text(&headroom, text), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registers),
        cmocka_unit_test(test_shared_memory),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_figures_that_are_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
