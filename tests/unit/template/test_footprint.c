#include "template/footprint.h"

#include "base/alloc.h"
#include "template/template_load.h"

#include "unit/scratch.h"
#include "unit/test.h"

enum { GUARDS = 2 * 4096, ARENA = 4 * 1024 * 1024 };

/* The footprint of a template with these buffers and expectations, for n = 1000 and an L2 of 1 MiB;
 * and what refusing it says, with 5 MB there. */
static struct footprint footprint_with(const char *text, const struct bindings *parameters,
                                       bool cold, struct error *refusal)
{
    char *whole = alloc_format("[parameters]\nblock_size = 256\n[problem]\nn = 1000\n%s"
                               "[launch.k]\nentry = k\ngrid = 1\nblock = block_size\n",
                               text);
    struct template template;
    struct bindings fixed = {0};
    struct bindings problem = {0};
    struct error error;
    assert_int_equal(scratch_write("t.ini", whole), 0);
    assert_int_equal(scratch_write("t.cu", "extern \"C\" __global__ void k() {}\n"), 0);
    free(whole);
    if (template_load(&template, "t.ini", &error) != 0)
        fail_msg("line %d: %s", error.line, error.message);
    bindings_set(&problem, "n", value_integer(1000));
    bindings_append(&fixed, &problem);
    bindings_set(&fixed, "l2_bytes", value_integer(1 << 20));
    struct footprint found = footprint_of(&template, &fixed, parameters, cold);
    if (refusal != NULL)
        assert_int_equal(
            footprint_refuse(&found, &template, &problem, 5000000, "are free", refusal),
            ERROR_MEMORY);
    found.largest = NULL; /* it was the template's */
    template_release(&template);
    bindings_release(&fixed);
    bindings_release(&problem);
    return found;
}

static struct footprint footprint(const char *text, bool cold, struct error *refusal)
{
    return footprint_with(text, NULL, cold, refusal);
}

#define OUT "[buffer.out]\ntype = int32\nlength = n\naccess = write\n"
#define EXPECT_OUT "[expect.out]\nreference = constant(0)\ncompare = exact\n"

UNIT_TEST_WITH(every_buffer_has_guards, scratch_enter, scratch_leave)
{
    struct footprint one = footprint(OUT EXPECT_OUT, false, NULL);
    assert_int_equal(one.bytes, ARENA + 2 * (4000 + GUARDS)); /* and what is expected of it */
    assert_int_equal(one.largest_bytes, 4000 + GUARDS);
}

UNIT_TEST_WITH(cold_measuring_reads_twice_the_l2, scratch_enter, scratch_leave)
{
    assert_int_equal(footprint(OUT EXPECT_OUT, true, NULL).bytes -
                         footprint(OUT EXPECT_OUT, false, NULL).bytes,
                     2 << 20);
}

UNIT_TEST_WITH(read_write_buffers_are_kept_twice, scratch_enter, scratch_leave)
{
    struct footprint found =
        footprint("[buffer.x]\ntype = int8\nlength = n + 1\naccess = read_write\n"
                  "unchecked = yes\nfill = constant(0)\n" OUT EXPECT_OUT,
                  false, NULL);
    /* 1001 bytes are allocated as 1008 */
    assert_int_equal(found.bytes, ARENA + 2 * (1008 + GUARDS) + 2 * (4000 + GUARDS));
}

UNIT_TEST_WITH(floats_are_expected_in_double, scratch_enter, scratch_leave)
{
    struct footprint found =
        footprint("[buffer.x]\ntype = float\nlength = n\naccess = write\n"
                  "[expect.x]\nreference = constant(0)\ncompare = relative(1e-6)\n",
                  false, NULL);
    assert_int_equal(found.bytes, ARENA + 4000 + 8000 + 2 * GUARDS);
}

UNIT_TEST_WITH(scratch_counts_where_it_is_large_and_known, scratch_enter, scratch_leave)
{
    uint64_t without = footprint(OUT EXPECT_OUT, false, NULL).bytes;
    uint64_t small = footprint("[buffer.s]\ntype = int8\nlength = n\naccess = scratch\n"
                               "fill = constant(0)\n" OUT EXPECT_OUT,
                               false, NULL)
                         .bytes;
    uint64_t large = footprint("[buffer.s]\ntype = int8\nlength = n * 100000\naccess = scratch\n"
                               "fill = constant(0)\n" OUT EXPECT_OUT,
                               false, NULL)
                         .bytes;
    uint64_t unknown = footprint("[buffer.s]\ntype = int8\nlength = n * 100000 * block_size\n"
                                 "access = scratch\nfill = constant(0)\n" OUT EXPECT_OUT,
                                 false, NULL)
                           .bytes;
    assert_int_equal(small, without); /* it comes out of the arena */
    assert_int_equal(large, without + 100000000 + GUARDS);
    assert_int_equal(unknown, without);
}

UNIT_TEST_WITH(sizes_do_not_overflow, scratch_enter, scratch_leave)
{
    struct footprint found =
        footprint("[buffer.x]\ntype = double\nlength = n * 2^52\naccess = read\n"
                  "fill = constant(0)\n[buffer.y]\ntype = double\nlength = n * 2^52\n"
                  "access = read\nfill = constant(0)\n" OUT EXPECT_OUT,
                  true, NULL);
    assert_true(found.bytes == UINT64_MAX);
}

UNIT_TEST_WITH(a_refusal_says_what_is_needed_and_there, scratch_enter, scratch_leave)
{
    struct error refusal;
    (void)footprint("[buffer.big]\ntype = float\nlength = n * 1000000\naccess = read\n"
                    "fill = constant(0)\n" OUT EXPECT_OUT,
                    false, &refusal);
    assert_string_equal(refusal.message,
                        "problem 'n=1000' needs 4.004 GB of device memory (buffer 'big' alone 4 "
                        "GB), but 5 MB are free; choose a smaller problem or free memory");
    assert_string_equal(refusal.file, "t.ini");
}

/* What depends on a parameter counts with the values of one variant. */
UNIT_TEST_WITH(what_parameters_change_counts_with_their_values, scratch_enter, scratch_leave)
{
    static const char text[] =
        "[buffer.big]\ntype = float\nlength = n * block_size\naccess = read\n"
        "fill = constant(0)\n" OUT EXPECT_OUT;
    struct bindings parameters = {0};
    struct error refusal;
    uint64_t without = footprint(text, false, NULL).bytes;
    bindings_set(&parameters, "block_size", value_integer(100000));
    uint64_t with = footprint_with(text, &parameters, false, &refusal).bytes;
    assert_int_equal(with, without + 400000000 + GUARDS);
    assert_non_null(strstr(refusal.message, "problem 'n=1000' needs 404.2 MB of device memory "
                                            "(buffer 'big' alone 400 MB)"));
    bindings_release(&parameters);
}
