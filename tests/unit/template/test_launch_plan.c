#include "template/launch_plan.h"

#include "base/alloc.h"
#include "template/template_load.h"
#include "template/value_list.h"

#include "unit/cases.h"
#include "unit/scratch.h"

/* Kernels with different figures: big_… has 128 registers, all others 32. */
static int find_info(void *user, const char *entry, struct kernel_info *info, struct error *error)
{
    (void)user;
    if (strcmp(entry, "missing") == 0)
        return error_set(error, ERROR_DEVICE, "no kernel '%s'", entry);
    *info = (struct kernel_info){.registers = strncmp(entry, "big", 3) == 0 ? 128 : 32,
                                 .spill_bytes = 8,
                                 .static_shared_bytes = 64};
    return 0;
}

/* 2048 threads of an SM, 64 KiB of dynamic shared memory. */
static int find_blocks(void *user, const char *entry, int block_threads,
                       int64_t dynamic_shared_bytes, int *blocks, struct error *error)
{
    (void)user;
    if (strcmp(entry, "occupied") == 0)
        return error_set(error, ERROR_DEVICE, "no room for '%s'", entry);
    *blocks = block_threads > 0 ? 2048 / block_threads : 0;
    if (dynamic_shared_bytes > 0 && *blocks > 65536 / dynamic_shared_bytes)
        *blocks = (int)(65536 / dynamic_shared_bytes);
    return 0;
}

static const char head[] =
    "[parameters]\nblock_size = 256\nfinish = two_pass | atomic\n"
    "[problem]\nn = 1000\nfactor = 1.5\n"
    "[buffer.in]\ntype = float\nlength = n\naccess = read\n"
    "fill = constant(0)\n"
    "[buffer.partials]\ntype = float\nlength = n\naccess = scratch\n"
    "[buffer.out]\ntype = float\nlength = n\naccess = write\n"; /* 19 lines */

/* Makes the plan of a template with these launches; with an [expect.out], that of its verifier or reference. */
static int make(struct launch_plan *launch_plan, struct template *template, const char *launches,
                struct error *error)
{
    const struct kernel_lookup lookup = {.info = find_info, .blocks_per_sm = find_blocks};
    bool helper = strstr(launches, "[expect.out]") != NULL;
    char *text =
        alloc_format("%s%s%s", head, launches,
                     helper ? "" : "[expect.out]\nreference = constant(0)\ncompare = exact\n");
    struct bindings names = {0};
    bindings_set(&names, "block_size", value_integer(256));
    bindings_set(&names, "finish", value_word("two_pass"));
    bindings_set(&names, "n", value_integer(1000));
    bindings_set(&names, "factor", value_real(1.5));
    bindings_set(&names, "sm_count", value_integer(4));
    const struct scope scope = {&names, NULL};
    assert_int_equal(scratch_write("t.ini", text) + scratch_write("t.cu", "// kernels\n"), 0);
    free(text);
    if (template_load(template, "t.ini", error) != 0)
        fail_msg("line %d: %s", error->line, error->message);
    int status = helper ? launch_plan_helper(launch_plan, template,
                                             template->verifier_count > 0
                                                 ? &template->verifiers[0].launch
                                                 : &template->expectations[0].reference,
                                             &scope, error)
                        : launch_plan_make(launch_plan, template, &scope, &lookup, error);
    double metrics[2];
    if (status == 0 && template->bytes != NULL)
        status =
            launch_plan_metrics(launch_plan, template, &scope, &metrics[0], &metrics[1], error);
    if (status != 0)
        launch_plan_release(launch_plan);
    bindings_release(&names);
    return status;
}

static void append_scalar(char **text, const struct argument *argument, const unsigned char *bytes)
{
    char number[ELEMENT_TEXT_BYTES];
    alloc_append(text, "%s %s", element_name(argument->type),
                 element_text(argument->type, bytes, 6, number));
}

static void append_argument(char **text, const struct template *template,
                            const struct argument *argument, const struct step_argument *value)
{
    if (argument->kind == ARGUMENT_SCALAR)
        append_scalar(text, argument, value->bytes);
    else if (argument->kind == ARGUMENT_BUFFER)
        alloc_append(text, "%s",
                     value->buffer == STEP_REFERENCE ? "reference"
                     : value->buffer == STEP_WRONG   ? "wrong"
                                                     : template->buffers[value->buffer].name);
    for (size_t i = 0; i < argument->field_count; i++) {
        alloc_append(text, i == 0 ? "{" : ", ");
        append_scalar(text, &argument->fields[i],
                      value->bytes + argument_field_offset(argument, i));
    }
    if (argument->field_count > 0)
        alloc_append(text, "} of %zu", value->size);
}

/* ENTRY<GRID, BLOCK, shared memory>(arguments) of each step, in a row once; what reports describe; names; residency. */
static char *plan_text(const struct launch_plan *launch_plan, const struct template *template)
{
    char *text = alloc_string("");
    for (size_t i = 0; i < launch_plan->step_count && i < 16; i++) {
        const struct step *step = &launch_plan->steps[i];
        alloc_append(&text, "%s%s<%ux%ux%u, %ux%ux%u, %u>(",
                     step->cooperative ? "cooperative " : "", step->entry, step->grid[0],
                     step->grid[1], step->grid[2], step->block[0], step->block[1], step->block[2],
                     step->dynamic_shared_bytes);
        for (size_t j = 0; j < step->argument_count; j++) {
            alloc_append(&text, "%s", j > 0 ? ", " : "");
            append_argument(&text, template, &step->launch->arguments[j], &step->arguments[j]);
        }
        alloc_append(&text, ") ");
    }
    char *names = bindings_text(&launch_plan->names);
    alloc_append(&text, "%zu steps, main %zu: %d registers, %d blocks; %s%s%s",
                 launch_plan->step_count, launch_plan->main_step, launch_plan->main.registers,
                 launch_plan->main_blocks_per_sm, names,
                 launch_plan->not_resident ? "; not resident: " : "", launch_plan->residency);
    free(names);
    return text;
}

static void check_case(void *user, const struct test_case *test)
{
    struct launch_plan launch_plan;
    struct template template;
    struct error error = {0};
    (void)user;
    int status = make(&launch_plan, &template, test->fields[0], &error);
    if (test->count == 2) {
        if (status != 0)
            case_fail(test, "line %d: %s", error.line, error.message);
        char *text = plan_text(&launch_plan, &template);
        case_assert_text(test, text, test->fields[1]);
        free(text);
        launch_plan_release(&launch_plan);
    } else {
        bool device = strcmp(test->fields[1], "device") == 0;
        case_assert_text(test, error.message, test->fields[2]);
        if (status != (device ? ERROR_DEVICE : ERROR_CONFIG) ||
            (!device && error.line != strtol(test->fields[1], NULL, 10)))
            case_fail(test, "error %d at line %d of %s", status, error.line, error.file);
        assert_null(launch_plan.steps);
    }
    template_release(&template);
}

static void plans(void **state)
{
    (void)state;
    cases_run(CASES, check_case, NULL);
}

static void blocks_and_threads_are_products(void **state)
{
    (void)state;
    const struct step step = {.grid = {1 << 21, 1 << 21, 1 << 20}, .block = {8, 4, 2}};
    assert_true(step_blocks(&step) == (int64_t)1 << 62);
    assert_int_equal(step_threads(&step), 64);
}

/* --- tensor maps --- */

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

static void map_assert_refused(struct texts texts, const char *reason)
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
        map_assert_refused(texts, wrong[i].reason);
    }
    struct texts bytes = tile;
    bytes.fill_nan = true;
    bytes.type = ELEMENT_UINT8;
    map_assert_refused(bytes, "a tensor map of uint8 cannot be filled with NaN");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(plans),
        cmocka_unit_test(blocks_and_threads_are_products),
        cmocka_unit_test(a_tile_of_two_dimensions),
        cmocka_unit_test(five_dimensions_with_strides_and_steps),
        cmocka_unit_test(the_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
