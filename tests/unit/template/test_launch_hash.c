#include "template/launch_plan.h"

#include "base/alloc.h"
#include "template/template_load.h"

#include "unit/scratch.h"
#include "unit/test.h"

static int find_info(void *user, const char *entry, struct kernel_info *info, struct error *error)
{
    (void)user;
    (void)entry;
    (void)error;
    *info = (struct kernel_info){.registers = 32};
    return 0;
}

static int find_blocks(void *user, const char *entry, int block_threads,
                       int64_t dynamic_shared_bytes, int *blocks, struct error *error)
{
    (void)user;
    (void)entry;
    (void)block_threads;
    (void)dynamic_shared_bytes;
    (void)error;
    *blocks = 4;
    return 0;
}

/* A template whose parameter `p` changes nothing; tests put it in the place of something else. */
static const char plain[] =
    "[launch_parameters]\np = 1\n[problem]\nn = 16\n"
    "[buffer.a]\ntype = float\nlength = n\naccess = write\n"
    "[buffer.b]\ntype = float\nlength = n\naccess = write\nunchecked = yes\n"
    "[buffer.scratch]\ntype = float\nlength = 4\naccess = scratch\nfill = uniform(0, 4, 4)\n"
    "[launch.first]\nentry = one\nwhen = 1 == 1\ngrid = 1\nblock = 1\n"
    "arguments = a, b, scratch\n"
    "[launch.second]\nentry = two\nwhen = 2 != 0\ngrid = 4, 1, 4\nblock = 4\nshared_bytes = 4\n"
    "cooperative = no\ncluster = 1, 1, 4\nprogrammatic = no\ncluster_scheduling = default\n"
    "shared_carveout = 4\narguments = a, b, scratch, uint32 4\n"
    "[expect.a]\nreference = constant(0)\ncompare = exact\n"
    "[metrics]\nbytes = 4\noperations = 4\n";

/* Of the variant with that `p`. */
static void hash_launch_of(const struct template *template, int64_t p, char digits[HASH_BYTES])
{
    const struct kernel_lookup lookup = {.info = find_info, .blocks_per_sm = find_blocks};
    struct bindings names = {0};
    struct launch_plan launch_plan;
    struct error error = {0};
    bindings_set(&names, "p", value_integer(p));
    bindings_set(&names, "n", value_integer(16));
    const struct scope scope = {&names, NULL};
    if (launch_plan_make(&launch_plan, template, &scope, &lookup, &error) != 0)
        fail_msg("%s", error.message);
    struct hash *hash = hash_new();
    assert_int_equal(launch_hash_add(hash, &launch_plan, template, &scope, &error), 0);
    hash_finish(hash, digits);
    launch_plan_release(&launch_plan);
    bindings_release(&names);
}

/* Whether the variants with p = 1 and p = 2 run the same with `to` in place of `from`. */
static bool are_twins(const char *from, const char *to)
{
    struct template template;
    struct error error;
    char first[HASH_BYTES];
    char second[HASH_BYTES];
    const char *at = strstr(plain, from);
    assert_non_null(at);
    char *text = alloc_format("%.*s%s%s", (int)(at - plain), plain, to, at + strlen(from));
    assert_int_equal(scratch_write("t.ini", text) + scratch_write("t.cu", "// kernels\n"), 0);
    free(text);
    if (template_load(&template, "t.ini", &error) != 0)
        fail_msg("%s: line %d: %s", to, error.line, error.message);
    hash_launch_of(&template, 1, first);
    hash_launch_of(&template, 2, second);
    template_release(&template);
    return strcmp(first, second) == 0;
}

UNIT_TEST_WITH(what_changes_a_run_changes_its_hash, scratch_enter, scratch_leave)
{
    static const struct {
        const char *from, *to;
    } changes[] = {
        {"grid = 4,", "grid = p,"},
        {"block = 4", "block = p"},
        {"shared_bytes = 4", "shared_bytes = p"},
        {"cooperative = no", "cooperative = p == 1"},
        {"uint32 4", "uint32 p"},
        {"= a, b, scratch, uint32 4", "= (p == 1 ? a : b), b, scratch, uint32 4"},
        {"length = 4", "length = p"},
        {"uniform(0, 4, 4)", "uniform(0, p, 4)"},
        {"uniform(0, 4, 4)", "uniform(0, 4, p)"},
        {"[metrics]\nbytes = 4", "[metrics]\nbytes = p"},
        {"operations = 4", "operations = p"},
        {"when = 1 == 1", "when = p == 1"},
        {"cluster = 1, 1, 4", "cluster = 1, 1, p"},
        {"programmatic = no", "programmatic = p == 1"},
        {"= default", "= p == 1 ? \"spread\" : \"default\""},
        {"shared_carveout = 4", "shared_carveout = p"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (are_twins(changes[i].from, changes[i].to))
            fail_msg("'%s' changes nothing", changes[i].to);
}

UNIT_TEST_WITH(what_changes_no_run_does_not, scratch_enter, scratch_leave)
{
    assert_true(are_twins("n = 16", "n = 16"));
    assert_true(are_twins("2 != 0", "p != 0")); /* a condition that holds for both */
}
