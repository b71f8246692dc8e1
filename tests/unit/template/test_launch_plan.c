#include "template/launch_plan.h"

#include "base/alloc.h"
#include "template/template_load.h"

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
    struct helper last; /* a verifier, or else a reference */
    for (size_t i = 0; helper && template_helper(template, i, &last);)
        i++;
    int status = helper ? launch_plan_helper(launch_plan, template, last, &scope, error)
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

static void append_map(char **text, const struct tensor_map *map)
{
    for (size_t i = 0; i < map->rank; i++)
        alloc_append(text, "%s%llu by %llu box %u step %u", i > 0 ? ", " : " map ",
                     (unsigned long long)map->dimensions[i], (unsigned long long)map->strides[i],
                     map->box[i], map->steps[i]);
    alloc_append(text, "; swizzle %u interleave %u l2 %u%s, %llu bytes", map->swizzle,
                 map->interleave, map->l2, map->fill_nan ? " nan" : "",
                 (unsigned long long)tensor_map_bytes(map));
}

static const char *buffer_name(const struct template *template, size_t buffer)
{
    return buffer == STEP_WRONG               ? "wrong"
           : buffer == STEP_NULL              ? "null"
           : buffer >= template->buffer_count ? "expected"
                                              : template->buffers[buffer].name;
}

/* A struct's addresses are apart: "x at 8". */
static void append_members(char **text, const struct argument *argument, const unsigned char *bytes)
{
    for (size_t i = 0; i < argument->field_count; i++) {
        const struct argument *field = &argument->fields[i];
        alloc_append(text, i == 0 ? "{" : ", ");
        if (field->kind == ARGUMENT_SCALAR)
            append_scalar(text, field, bytes + field->offset);
        else if (field->kind == ARGUMENT_BUFFER)
            alloc_append(text, "*");
        else
            append_members(text, field, bytes + field->offset);
    }
    alloc_append(text, argument->field_count > 0 ? "}" : "{}");
}

static void append_argument(char **text, const struct template *template,
                            const struct argument *argument, const struct step_argument *value)
{
    if (argument->kind == ARGUMENT_SCALAR)
        append_scalar(text, argument, value->bytes);
    else if (argument_has_buffer(argument))
        alloc_append(text, "%s", buffer_name(template, value->buffer));
    if (value->tensor_map != NULL)
        append_map(text, value->tensor_map);
    if (argument->kind != ARGUMENT_STRUCT)
        return;
    append_members(text, argument, value->bytes);
    alloc_append(text, " of %zu", value->size);
    for (size_t i = 0; i < value->pointer_count; i++)
        alloc_append(text, ", %s at %zu", buffer_name(template, value->pointers[i].buffer),
                     value->pointers[i].offset);
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

UNIT_TEST_WITH(plans, scratch_enter, scratch_leave)
{
    cases_run(CASES, check_case, NULL);
}

UNIT_TEST(blocks_and_threads_are_products)
{
    const struct step step = {.grid = {1 << 21, 1 << 21, 1 << 20}, .block = {8, 4, 2}};
    assert_true(step_blocks(&step) == (int64_t)1 << 62);
    assert_int_equal(step_threads(&step), 64);
}
