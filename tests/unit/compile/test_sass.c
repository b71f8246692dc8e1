#include "compile/sass.h"

#include "unit/test.h"

/* As nvdisasm -c prints it. */
static const char nvdisasm[] =
    "\t.target\tsm_90\n\n"
    "//--------------------- .text.sum --------------------------\n"
    "\t.section\t.text.sum,\"ax\",@progbits\n"
    "        .global         sum\n"
    "sum:\n"
    ".text.sum:\n"
    "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
    "        /*0010*/              @!P0 BRA `(.L_x_0) ;\n"
    ".L_x_2:\n"
    "        /*0020*/                   LDG.E.128.CONSTANT R4, desc[UR8][R4.64] ;\n"
    "        /*0030*/               @P1 LDG.E R8, desc[UR8][R4.64+0x4] ;\n"
    "        /*0040*/                   LDG.E.64.STRONG.GPU R8, desc[UR8][R4.64+0x4] ;\n"
    "        /*0050*/                   LDG.E.U8 R8, desc[UR8][R4.64+0x4] ;\n"
    "        /*0060*/                   FADD R0, R4, R5 ;\n"
    "        /*0070*/                   SHFL.BFLY PT, R3, R0, 0x10, 0x1f ;\n"
    "        /*0080*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;\n"
    "        /*0090*/                   REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR4][R2.64], R5 ;\n"
    "        /*00a0*/                   STL.64 [R1], R2 ;\n"
    "        /*00b0*/                   HFMA2.MMA R3, -RZ, RZ, 0, 0 ;\n"
    "        /*00c0*/                   EXIT ;\n"
    "        /*00d0*/                   NOP;\n"
    ".text.other:\n"
    "        /*0000*/                   STG.E.64 desc[UR4][R2.64], R4 ;\n"
    "        /*0010*/                   MEMBAR.ALL.GPU ;\n";

UNIT_TEST(test_kinds_of_instructions)
{
    static const struct {
        enum sass_kind kind;
        size_t count;
    } expected[] = {
        {SASS_LOAD_NARROW, 1}, {SASS_LOAD_32, 1}, {SASS_LOAD_64, 1}, {SASS_LOAD_128, 1},
        {SASS_LOAD_256, 0},    {SASS_FLOAT, 1},   {SASS_SHUFFLE, 1}, {SASS_BARRIER, 1},
        {SASS_ATOMIC, 1},      {SASS_LOCAL, 1},   {SASS_HALF, 0},    {SASS_BRANCH, 2},
        {SASS_OTHER, 2},
    };
    struct sass sass;
    sass_count(nvdisasm, &sass);
    assert_int_equal(sass.count, 2);
    assert_string_equal(sass.kernels[0].entry, "sum");
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(sass.kernels[0].counts[expected[i].kind], expected[i].count);
    assert_int_equal(sass.kernels[0].instructions, 13); /* without the padding */
    assert_string_equal(sass.kernels[1].entry, "other");
    assert_int_equal(sass.kernels[1].counts[SASS_STORE_64], 1);
    assert_int_equal(sass.kernels[1].counts[SASS_FENCE], 1);
    assert_int_equal(sass.kernels[1].instructions, 2);
    sass_release(&sass);
}

UNIT_TEST(test_listing_of_cuobjdump)
{
    struct sass sass;
    sass_count(
        "\tcode for sm_90\n"
        "\t\tFunction : sum\n"
        "\t.headerflags\t@\"EF_CUDA_SM90\"\n"
        "        /*0000*/                   LDG.E.64 R2, [R2] ;      /* 0x00000a00ff017b82 */\n"
        "                                                            /* 0x000ff00000000800 */\n"
        "        /*0010*/              @!P0 EXIT ;                   /* 0x00008600ff027b82 */\n",
        &sass);
    assert_int_equal(sass.count, 1);
    assert_string_equal(sass.kernels[0].entry, "sum");
    assert_int_equal(sass.kernels[0].counts[SASS_LOAD_64], 1);
    assert_int_equal(sass.kernels[0].counts[SASS_BRANCH], 1);
    assert_int_equal(sass.kernels[0].instructions, 2);
    sass_release(&sass);
}

UNIT_TEST(test_listings_that_are_none)
{
    static const char *const listings[] = {"",
                                           "\n\n",
                                           "/*",
                                           "/*0000*/",
                                           "   /*0000*/ @P0",
                                           ".text.",
                                           "Function : ",
                                           "/*00000000*/ LDG.E R0 ;\n"};
    for (size_t i = 0; i < sizeof listings / sizeof *listings; i++) {
        struct sass sass;
        sass_count(listings[i], &sass);
        for (size_t j = 0; j < sass.count; j++)
            assert_int_equal(sass.kernels[j].instructions, 0);
        sass_release(&sass);
    }
}
