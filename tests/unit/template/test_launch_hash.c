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

/* The key `changed` has the value `p`, a parameter; all else is fixed. Of a buffer's name as an
 * argument, `p` chooses. */
static void write_template(const char *changed)
{
    static const struct {
        const char *key;
        const char *value;
    } keys[] = {{"GRID", "4"},
                {"BLOCK", "4"},
                {"SHARED", "4"},
                {"COOPERATIVE", "no"},
                {"SCALAR", "4"},
                {"BUFFER", "a"},
                {"ENTRY", "2"},
                {"LENGTH", "4"},
                {"FILL", "4"},
                {"SEED", "4"},
                {"BYTES", "4"},
                {"OPERATIONS", "4"},
                {"LAUNCHES", "2"},
                {"NOTHING", "4"},
                {"CLUSTER", "4"},
                {"PROGRAMMATIC", "no"},
                {"SCHEDULING", "default"},
                {"CARVEOUT", "4"}};
    const char *values[sizeof keys / sizeof *keys];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        values[i] = keys[i].value;
        if (strcmp(keys[i].key, changed) == 0)
            values[i] = strcmp(changed, "COOPERATIVE") == 0 || strcmp(changed, "PROGRAMMATIC") == 0
                            ? "p == 1"
                        : strcmp(changed, "SCHEDULING") == 0 ? "p == 1 ? \"spread\" : \"default\""
                        : strcmp(changed, "BUFFER") == 0     ? "p == 1 ? a : b"
                                                             : "p";
    }
    if (strcmp(changed, "PROGRAMMATIC") == 0) /* never the first launch of a run */
        values[12] = "1";
    char *text =
        alloc_format("[launch_parameters]\np = 1\n[problem]\nn = 16\n"
                     "[buffer.a]\ntype = float\nlength = n\naccess = write\n"
                     "[buffer.b]\ntype = float\nlength = n\naccess = write\nunchecked = yes\n"
                     "[buffer.scratch]\ntype = float\nlength = %s\naccess = scratch\n"
                     "fill = uniform(0, %s, %s)\n"
                     "[launch.first]\nentry = one\nwhen = %s == 1\ngrid = 1\nblock = 1\n"
                     "arguments = a, b, scratch\n"
                     "[launch.second]\nentry = two\nwhen = %s != 0\ngrid = %s, 1, 4\nblock = %s\n"
                     "shared_bytes = %s\ncooperative = %s\n"
                     "cluster = 1, 1, %s\nprogrammatic = %s\ncluster_scheduling = %s\n"
                     "shared_carveout = %s\n"
                     "arguments = %s, b, scratch, uint32 %s\n"
                     "[expect.a]\nreference = constant(0)\ncompare = exact\n"
                     "[metrics]\nbytes = %s\noperations = %s\n",
                     values[7], values[8], values[9], values[12], values[6], values[0], values[1],
                     values[2], values[3], values[14], values[15], values[16], values[17],
                     values[5], values[4], values[10], values[11]);
    assert_int_equal(scratch_write("t.ini", text), 0);
    assert_int_equal(scratch_write("t.cu", "// kernels\n"), 0);
    free(text);
}

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

/* Whether the variants with p = 1 and p = 2 run the same. */
static bool are_twins(const char *changed)
{
    struct template template;
    struct error error;
    char first[HASH_BYTES];
    char second[HASH_BYTES];
    write_template(changed);
    if (template_load(&template, "t.ini", &error) != 0)
        fail_msg("%s: line %d: %s", changed, error.line, error.message);
    hash_launch_of(&template, 1, first);
    hash_launch_of(&template, 2, second);
    template_release(&template);
    return strcmp(first, second) == 0;
}

static void what_changes_a_run_changes_its_hash(void **state)
{
    (void)state;
    static const char *const changes[] = {"GRID",    "BLOCK",        "SHARED",     "COOPERATIVE",
                                          "SCALAR",  "BUFFER",       "LENGTH",     "FILL",
                                          "SEED",    "BYTES",        "OPERATIONS", "LAUNCHES",
                                          "CLUSTER", "PROGRAMMATIC", "SCHEDULING", "CARVEOUT"};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (are_twins(changes[i]))
            fail_msg("%s changes nothing", changes[i]);
}

static void what_changes_no_run_does_not(void **state)
{
    (void)state;
    assert_true(are_twins("NOTHING"));
    assert_true(are_twins("ENTRY")); /* a condition that holds for both */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(what_changes_a_run_changes_its_hash),
        SCRATCH_TEST(what_changes_no_run_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
