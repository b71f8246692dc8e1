/* What a tensor map's options mean, and the limits of the driver's documentation. */
#include "template/launch_plan.h"

#include "base/alloc.h"
#include "template/value_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* As in a template: "k, m"; NULL or "" for an option that is left out. */
struct texts {
    const char *dimensions, *box, *strides, *steps, *swizzle, *interleave, *l2;
    bool fill_nan;
    enum element_type type;
};

static struct expression *compile(const char *text)
{
    struct expression *expression = NULL;
    struct error error;
    if (text != NULL && expression_new(&expression, text, "t.ini", 4, &error) != 0)
        fail_msg("'%s' is refused: %s", text, error.message);
    return expression;
}

static size_t compile_all(const char *text, struct expression **expressions)
{
    char **parts;
    size_t count = text_split(text != NULL ? text : "", ',', &parts);
    for (size_t i = 0; i < count; i++)
        expressions[i] = compile(parts[i]);
    text_split_release(parts, count);
    return count;
}

static int read_map(const struct texts *texts, struct tensor_map *map, struct error *error)
{
    struct tensor_map_options *options = alloc_zeroed(1, sizeof *options);
    struct bindings bindings = {0};
    bindings_set(&bindings, "k", value_integer(1024));
    bindings_set(&bindings, "m", value_integer(500));
    bindings_set(&bindings, "tile", value_integer(64));
    const struct scope scope = {&bindings, NULL};
    options->rank = compile_all(texts->dimensions, options->dimensions);
    (void)compile_all(texts->box, options->box);
    (void)compile_all(texts->strides, &options->strides[1]);
    (void)compile_all(texts->steps, options->steps);
    options->swizzle = compile(texts->swizzle);
    options->interleave = compile(texts->interleave);
    options->l2 = compile(texts->l2);
    options->fill_nan = texts->fill_nan;
    int status = tensor_map_read(map, options, texts->type, &scope, error);
    tensor_map_options_free(options);
    bindings_release(&bindings);
    return status;
}

static void assert_refused(struct texts texts, const char *reason)
{
    struct tensor_map map;
    struct error error;
    if (read_map(&texts, &map, &error) != ERROR_CONFIG)
        fail_msg("accepted: %s", reason);
    assert_string_equal(error.file, "t.ini");
    assert_int_equal(error.line, 4);
    if (strstr(error.message, reason) == NULL)
        fail_msg("'%s' instead of '%s'", error.message, reason);
}

static void a_tile_of_two_dimensions(void **state)
{
    (void)state;
    const struct texts texts = {
        .dimensions = "k, m", .box = "tile, 128", .swizzle = "tile * 2", .type = ELEMENT_HALF};
    struct tensor_map map;
    struct error error;
    assert_int_equal(read_map(&texts, &map, &error), 0);
    assert_int_equal(map.rank, 2);
    assert_int_equal(map.dimensions[0], 1024);
    assert_int_equal(map.dimensions[1], 500);
    assert_int_equal(map.strides[0], 2);
    assert_int_equal(map.strides[1], 2048);
    assert_int_equal(map.box[0], 64);
    assert_int_equal(map.box[1], 128);
    assert_int_equal(map.steps[1], 1);
    assert_int_equal(map.swizzle, 128);
    assert_int_equal(map.interleave, 0);
    assert_int_equal(map.l2, 128);
    assert_false(map.fill_nan);
    assert_int_equal(tensor_map_bytes(&map), 2 * 1024 * 500);
}

static void five_dimensions_with_strides_and_steps(void **state)
{
    (void)state;
    const struct texts texts = {.dimensions = "16, 3, 5, 7, 2",
                                .box = "16, 1, 2, 3, 2",
                                .strides = "20, 64, 320, 4096",
                                .steps = "1, 1, 2, 8, 1",
                                .l2 = "0",
                                .fill_nan = true,
                                .type = ELEMENT_FLOAT};
    struct tensor_map map;
    struct error error;
    assert_int_equal(read_map(&texts, &map, &error), 0);
    assert_int_equal(map.strides[1], 80);
    assert_int_equal(map.strides[4], 4 * 4096);
    assert_int_equal(map.steps[3], 8);
    assert_int_equal(map.l2, 0);
    assert_true(map.fill_nan);
    assert_int_equal(tensor_map_bytes(&map), 4 * (15 + 2 * 20 + 4 * 64 + 6 * 320 + 1 * 4096) + 4);
}

static void the_limits(void **state)
{
    (void)state;
    const struct texts tile = {.dimensions = "k, m", .box = "tile, 128", .type = ELEMENT_HALF};
    static const struct {
        size_t option; /* the offset of the text that is replaced */
        const char *text, *reason;
    } wrong[] = {
#define OPTION(name) offsetof(struct texts, name)
        {OPTION(dimensions), "k, 0", "dimension must be 1 to 4294967296, not 0"},
        {OPTION(dimensions), "k, 2^33", "dimension must be 1 to 4294967296, not 8589934592"},
        {OPTION(dimensions), "k - 4, m",
         "a stride of the tensor map would take 2040 bytes; it "
         "must be a multiple of 16"},
        {OPTION(strides), "k + 1", "a stride of the tensor map would take 2050 bytes"},
        {OPTION(strides), "2^39", "a stride of the tensor map would take 2^40 bytes"},
        {OPTION(strides), "0", "stride must be 1 to"},
        {OPTION(box), "tile, 257", "box must be 1 to 256, not 257"},
        {OPTION(box), "tile, 0", "box must be 1 to 256, not 0"},
        {OPTION(box), "4, 4", "box would take 8 bytes; it must be a multiple of 16"},
        {OPTION(steps), "1, 9", "step must be 1 to 8, not 9"},
        {OPTION(swizzle), "tile", "would take 128 bytes, but swizzle(64) allows at most 64"},
        {OPTION(swizzle), "tile + 1", "swizzle must be 0, 32, 64 or 128 bytes, not 65"},
        {OPTION(interleave), "8", "interleave must be 0, 16 or 32 bytes, not 8"},
        {OPTION(interleave), "16", "needs at least 3 dimensions"},
        {OPTION(interleave), "32", "interleave(32) needs swizzle(32)"},
        {OPTION(l2), "32", "l2 must be 0, 64, 128 or 256 bytes, not 32"},
        {OPTION(box), "tile, 1 / 0", "cannot evaluate"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct texts texts = tile;
        memcpy((char *)&texts + wrong[i].option, &wrong[i].text, sizeof wrong[i].text);
        assert_refused(texts, wrong[i].reason);
    }
    struct texts bytes = tile;
    bytes.fill_nan = true;
    bytes.type = ELEMENT_UINT8;
    assert_refused(bytes, "a tensor map of uint8 cannot be filled with NaN");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tile_of_two_dimensions),
        cmocka_unit_test(five_dimensions_with_strides_and_steps),
        cmocka_unit_test(the_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
