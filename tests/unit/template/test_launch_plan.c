#include "template/launch_plan.h"

#include "base/alloc.h"
#include "template/template_load.h"
#include "template/value_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct scene {
    char folder[64];
    char path[96];
    char source[96];
    struct template template;
    struct bindings names; /* parameters, problem and device */
    struct scope scope;
    struct kernel_lookup lookup;
    struct launch_plan launch_plan;
    struct error error;
};

static void write_file(const char *path, const char *text)
{
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
}

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

static int make_scene(void **state)
{
    struct scene *scene = alloc_zeroed(1, sizeof *scene);
    *state = scene;
    (void)snprintf(scene->folder, sizeof scene->folder, "/tmp/test_schedule.XXXXXX");
    if (mkdtemp(scene->folder) == NULL)
        return -1;
    (void)snprintf(scene->path, sizeof scene->path, "%s/t.ini", scene->folder);
    (void)snprintf(scene->source, sizeof scene->source, "%s/t.cu", scene->folder);
    write_file(scene->source, "// kernels\n");
    scene->lookup = (struct kernel_lookup){.info = find_info, .blocks_per_sm = find_blocks};
    bindings_set(&scene->names, "block_size", value_integer(256));
    bindings_set(&scene->names, "finish", value_word("two_pass"));
    bindings_set(&scene->names, "n", value_integer(1000));
    bindings_set(&scene->names, "factor", value_real(1.5));
    bindings_set(&scene->names, "sm_count", value_integer(4));
    scene->scope = (struct scope){&scene->names, NULL};
    return 0;
}

static int remove_scene(void **state)
{
    struct scene *scene = *state;
    launch_plan_release(&scene->launch_plan);
    template_release(&scene->template);
    bindings_release(&scene->names);
    (void)unlink(scene->path);
    (void)unlink(scene->source);
    int status = rmdir(scene->folder);
    free(scene);
    return status;
}

static const char head[] =
    "[parameters]\nblock_size = 256\nfinish = two_pass | atomic\n"
    "[problem]\nn = 1000\nfactor = 1.5\n"
    "[buffer.in]\ntype = float\nlength = n\naccess = read\n"
    "fill = constant(0)\n"
    "[buffer.partials]\ntype = float\nlength = n\naccess = scratch\n"
    "[buffer.out]\ntype = float\nlength = n\naccess = write\n"; /* 19 lines */

static const char constant[] = "[expect.out]\nreference = constant(0)\ncompare = exact\n";

/* Loads a template with `launches` and, with `expect`, other than the constant expectation. */
static void load(struct scene *scene, const char *launches, const char *expect)
{
    char *text = alloc_format("%s%s%s", head, launches, expect);
    launch_plan_release(&scene->launch_plan);
    template_release(&scene->template);
    write_file(scene->path, text);
    free(text);
    if (template_load(&scene->template, scene->path, &scene->error) != 0)
        fail_msg("line %d: %s", scene->error.line, scene->error.message);
}

static int make(struct scene *scene, const char *launches)
{
    load(scene, launches, constant);
    scene->error = (struct error){0};
    return launch_plan_make(&scene->launch_plan, &scene->template, &scene->scope, &scene->lookup,
                            &scene->error);
}

static void make_well(struct scene *scene, const char *launches)
{
    if (make(scene, launches) != 0)
        fail_msg("line %d: %s", scene->error.line, scene->error.message);
}

static void assert_refused(struct scene *scene, const char *launches, int line, const char *message)
{
    assert_int_equal(make(scene, launches), ERROR_CONFIG);
    assert_string_equal(scene->error.message, message);
    assert_int_equal(scene->error.line, line);
    assert_string_equal(scene->error.file, scene->path);
    assert_int_equal(scene->launch_plan.step_count, 0);
    assert_null(scene->launch_plan.steps);
}

static void assert_extents(const uint32_t actual[3], uint32_t x, uint32_t y, uint32_t z)
{
    assert_int_equal(actual[0], x);
    assert_int_equal(actual[1], y);
    assert_int_equal(actual[2], z);
}

static void assert_name(const struct scene *scene, const char *name, int64_t expected)
{
    const struct value *value = bindings_find(&scene->launch_plan.names, name);
    assert_non_null(value);
    assert_true(value_equal(*value, value_integer(expected)));
}

/* --- launches --- */

static void launches_in_order(void **state)
{
    struct scene *scene = *state;
    make_well(scene, "[launch.partial]\nentry = k\ngrid = ceil_div(n, block_size)\n"
                     "block = block_size\narguments = in, partials, uint64 n\n"
                     "[launch.finish]\nentry = f\ngrid = 1\nblock = 32\n"
                     "arguments = partials, out, uint32 partial_grid, uint32 partial_block\n");
    const struct launch_plan *launch_plan = &scene->launch_plan;
    assert_int_equal(launch_plan->step_count, 2);
    assert_ptr_equal(launch_plan->steps[0].launch, &scene->template.launches[0]);
    assert_string_equal(launch_plan->steps[0].entry, "k");
    assert_extents(launch_plan->steps[0].grid, 4, 1, 1);
    assert_extents(launch_plan->steps[0].block, 256, 1, 1);
    assert_int_equal(launch_plan->steps[0].dynamic_shared_bytes, 0);
    assert_false(launch_plan->steps[0].cooperative);
    assert_int_equal(launch_plan->steps[0].argument_count, 3);
    assert_int_equal(launch_plan->steps[0].arguments[0].kind, ARGUMENT_BUFFER);
    assert_int_equal(launch_plan->steps[0].arguments[0].buffer, 0);
    assert_int_equal(launch_plan->steps[0].arguments[1].buffer, 1);
    assert_int_equal(launch_plan->steps[0].arguments[2].kind, ARGUMENT_SCALAR);
    assert_memory_equal(launch_plan->steps[0].arguments[2].bytes, &(uint64_t){1000}, 8);
    assert_ptr_equal(launch_plan->steps[1].launch, &scene->template.launches[1]);
    assert_memory_equal(launch_plan->steps[1].arguments[2].bytes, &(uint32_t){4}, 4);
    assert_memory_equal(launch_plan->steps[1].arguments[3].bytes, &(uint32_t){256}, 4);
    assert_name(scene, "partial_grid", 4);
    assert_name(scene, "partial_block", 256);
    assert_name(scene, "finish_grid", 1);
    assert_name(scene, "finish_block", 32);
    assert_int_equal(step_threads(&launch_plan->steps[0]), 256);
    assert_int_equal(step_blocks(&launch_plan->steps[0]), 4);
}

static void three_dimensions(void **state)
{
    struct scene *scene = *state;
    make_well(scene, "[launch.tile]\nentry = k\ngrid = 2, n // 100, 3\nblock = 8, 4, 2\n"
                     "shared_bytes = 4 * block_size\n");
    const struct step *step = &scene->launch_plan.steps[0];
    assert_extents(step->grid, 2, 10, 3);
    assert_extents(step->block, 8, 4, 2);
    assert_int_equal(step->dynamic_shared_bytes, 1024);
    assert_int_equal(step_blocks(step), 60);
    assert_int_equal(step_threads(step), 64);
    assert_name(scene, "tile_grid", 60);
    assert_name(scene, "tile_block", 64);
}

static void compiled_figures(void **state)
{
    struct scene *scene = *state;
    make_well(scene, "[launch.run]\nentry = big\ngrid = sm_count * blocks_per_sm\n"
                     "block = registers\nshared_bytes = 16384\n"
                     "arguments = int32 registers, int32 spill_bytes, int32 static_shared_bytes, "
                     "int32 blocks_per_sm,\n  int32 block_threads\n");
    const struct step *step = &scene->launch_plan.steps[0];
    static const int32_t expected[] = {128, 8, 64, 4, 128};
    assert_extents(step->grid, 16, 1, 1);
    for (size_t i = 0; i < 5; i++)
        assert_memory_equal(step->arguments[i].bytes, &expected[i], 4);
    assert_int_equal(scene->launch_plan.main.registers, 128);
    assert_int_equal(scene->launch_plan.main_blocks_per_sm, 4);
}

/* A launch's figures are its own: what the one before left is no value. */
static void figures_of_another_launch(void **state)
{
    struct scene *scene = *state;
    assert_refused(scene,
                   "[launch.first]\nentry = k\ngrid = 1\nblock = 64\n"
                   "[launch.second]\nentry = k\ngrid = 1\nblock = block_threads\n",
                   27, "'block_threads' has no value here, in expression 'block_threads'");
    assert_refused(scene,
                   "[launch.first]\nentry = k\ngrid = 1\nblock = 64\n"
                   "[launch.second]\nentry = k\ngrid = 1\nblock = 32 * blocks_per_sm\n",
                   27, "'blocks_per_sm' has no value here, in expression '32 * blocks_per_sm'");
}

static void conditions(void **state)
{
    struct scene *scene = *state;
    static const char launches[] =
        "[launch.clear]\nentry = c\nwhen = finish == \"atomic\"\ngrid = 7\nblock = 1\n"
        "[launch.sum]\nentry = s\ngrid = 1\nblock = 64\narguments = uint32 clear_grid\n"
        "[launch.second]\nentry = missing\nwhen = no\ngrid = 1\nblock = 32\n";
    make_well(scene, launches);
    assert_int_equal(scene->launch_plan.step_count, 1);
    assert_string_equal(scene->launch_plan.steps[0].entry, "s");
    assert_ptr_equal(scene->launch_plan.steps[0].launch, &scene->template.launches[1]);
    assert_memory_equal(scene->launch_plan.steps[0].arguments[0].bytes, &(uint32_t){0}, 4);
    assert_name(scene, "clear_grid", 0);
    assert_name(scene, "clear_block", 0);
    assert_name(scene, "second_grid", 0);
    bindings_set(&scene->names, "finish", value_word("atomic"));
    make_well(scene, launches);
    assert_int_equal(scene->launch_plan.step_count, 2);
    assert_name(scene, "clear_grid", 7);
    assert_memory_equal(scene->launch_plan.steps[1].arguments[0].bytes, &(uint32_t){7}, 4);
}

static void nothing_to_do(void **state)
{
    struct scene *scene = *state;
    make_well(scene, "[launch.none]\nentry = k\ngrid = n - 1000\nblock = 32\narguments = in\n"
                     "[launch.empty]\nentry = k\ngrid = 1\nblock = 8, 0\n"
                     "[launch.run]\nentry = k\ngrid = 1\nblock = 32\n");
    assert_int_equal(scene->launch_plan.step_count, 1);
    assert_ptr_equal(scene->launch_plan.steps[0].launch, &scene->template.launches[2]);
    assert_int_equal(scene->launch_plan.main_step, 0);
    assert_name(scene, "none_grid", 0);
    assert_name(scene, "none_block", 32);
    assert_name(scene, "empty_block", 0);
}

static void the_main_launch(void **state)
{
    struct scene *scene = *state;
    make_well(scene, "[launch.clear]\nentry = k\ngrid = 1\nblock = 32\n"
                     "[launch.sum]\nentry = big\nmain = yes\ngrid = 1\nblock = 1024\n"
                     "[launch.finish]\nentry = k\ngrid = 1\nblock = 64\n");
    assert_int_equal(scene->launch_plan.main_step, 1);
    assert_int_equal(scene->launch_plan.main.registers, 128);
    assert_int_equal(scene->launch_plan.main.static_shared_bytes, 64);
    assert_int_equal(scene->launch_plan.main_blocks_per_sm, 2);
    /* by default the first active one */
    make_well(scene, "[launch.clear]\nentry = big\nwhen = n < 0\ngrid = 1\nblock = 32\n"
                     "[launch.sum]\nentry = k\ngrid = 1\nblock = 1024\n"
                     "[launch.finish]\nentry = big\ngrid = 1\nblock = 64\n");
    assert_int_equal(scene->launch_plan.main_step, 0);
    assert_ptr_equal(scene->launch_plan.steps[0].launch, &scene->template.launches[1]);
    assert_int_equal(scene->launch_plan.main.registers, 32);
    /* also where the main one is inactive */
    make_well(scene, "[launch.clear]\nentry = k\ngrid = 1\nblock = 32\n"
                     "[launch.sum]\nentry = big\nmain = yes\nwhen = no\ngrid = 1\nblock = 32\n");
    assert_int_equal(scene->launch_plan.main_step, 0);
    assert_int_equal(scene->launch_plan.main.registers, 32);
}

/* --- loops --- */

static void loops_are_unrolled(void **state)
{
    struct scene *scene = *state;
    make_well(scene, "[launch.step]\nentry = k\nloop = stride\nfrom = 1\nwhile = stride < n\n"
                     "next = stride * 2\ngrid = ceil_div(n, stride * 2 * block_size)\n"
                     "block = block_size\narguments = uint64 stride, uint32 iteration\n"
                     "[launch.last]\nentry = k\ngrid = step_grid\nblock = 32\n");
    const struct launch_plan *launch_plan = &scene->launch_plan;
    static const uint32_t grids[] = {2, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    assert_int_equal(launch_plan->step_count, 11);
    for (uint32_t i = 0; i < 10; i++) {
        assert_ptr_equal(launch_plan->steps[i].launch, &scene->template.launches[0]);
        assert_int_equal(launch_plan->steps[i].grid[0], grids[i]);
        assert_memory_equal(launch_plan->steps[i].arguments[0].bytes, &(uint64_t){1u << i}, 8);
        assert_memory_equal(launch_plan->steps[i].arguments[1].bytes, &i, 4);
    }
    assert_int_equal(launch_plan->steps[10].grid[0], 2); /* of the first iteration */
    assert_name(scene, "step_grid", 2);
}

static void ping_pong(void **state)
{
    struct scene *scene = *state;
    make_well(scene,
              "[launch.step]\nentry = k\nloop = left\nfrom = 5\nwhile = left > 1\n"
              "next = ceil_div(left, 2)\ngrid = left\nblock = 32\n"
              "arguments = (iteration == 0 and in or iteration % 2 == 1 and out or partials),"
              "\n  (iteration % 2 == 0 and out or partials)\n");
    static const size_t from[] = {0, 2, 1};
    static const size_t to[] = {2, 1, 2};
    assert_int_equal(scene->launch_plan.step_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(scene->launch_plan.steps[i].arguments[0].buffer, from[i]);
        assert_int_equal(scene->launch_plan.steps[i].arguments[1].buffer, to[i]);
    }
}

static void loops_that_do_not_begin(void **state)
{
    struct scene *scene = *state;
    make_well(scene, "[launch.step]\nentry = k\nloop = i\nfrom = n\nwhile = i < n\nnext = i + 1\n"
                     "grid = 9\nblock = 32\n"
                     "[launch.run]\nentry = k\ngrid = 1\nblock = 32\n");
    assert_int_equal(scene->launch_plan.step_count, 1);
    assert_name(scene, "step_grid", 0);
}

static void loops_over_words_and_reals(void **state)
{
    struct scene *scene = *state;
    make_well(scene, "[launch.step]\nentry = k\nloop = phase\nfrom = \"first\"\n"
                     "while = phase ~= \"done\"\n"
                     "next = (phase == \"first\" and \"second\" or \"done\")\n"
                     "grid = (phase == \"first\" and 1 or 2)\nblock = 32\n"
                     "[launch.halve]\nentry = k\nloop = x\nfrom = factor\nwhile = x > 0.5\n"
                     "next = x / 2\ngrid = 1\nblock = 32\narguments = double x\n");
    assert_int_equal(scene->launch_plan.step_count, 4);
    assert_int_equal(scene->launch_plan.steps[1].grid[0], 2);
    assert_memory_equal(scene->launch_plan.steps[3].arguments[0].bytes, &(double){0.75}, 8);
}

static void loops_end_at_4096(void **state)
{
    struct scene *scene = *state;
    make_well(scene, "[launch.step]\nentry = k\nloop = i\nfrom = 0\nwhile = i < 4096\n"
                     "next = i + 1\ngrid = 1\nblock = 32\n");
    assert_int_equal(scene->launch_plan.step_count, 4096);
    assert_refused(scene,
                   "[launch.step]\nentry = k\nloop = i\nfrom = 0\nwhile = i < 4097\n"
                   "next = i + 1\ngrid = 1\nblock = 32\n",
                   20, "the loop of launch 'step' does not end");
    /* nor does one that launches nothing go on for ever */
    assert_refused(scene,
                   "[launch.step]\nentry = k\nloop = i\nfrom = 0\nwhile = yes\n"
                   "next = i\ngrid = 0\nblock = 32\n",
                   20, "the loop of launch 'step' does not end");
    assert_refused(scene,
                   "[launch.step]\nentry = k\nloop = i\nfrom = 0\nwhile = i < 4096\n"
                   "next = i + 1\ngrid = 1\nblock = 32\n"
                   "[launch.more]\nentry = k\ngrid = 1\nblock = 32\n",
                   28, "with launch 'more' a run has more than 4096 launches");
}

/* --- residency --- */

static void blocks_that_must_fit_at_once(void **state)
{
    struct scene *scene = *state;
    static const char *const flags[] = {"co_resident = yes", "cooperative = yes",
                                        "cooperative = finish == \"two_pass\""};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        char *text =
            alloc_format("[launch.run]\nentry = k\ngrid = 32\nblock = block_size\n%s\n", flags[i]);
        make_well(scene, text); /* 4 SMs of 8 blocks */
        assert_false(scene->launch_plan.not_resident);
        assert_int_equal(scene->launch_plan.steps[0].cooperative, i > 0);
        free(text);
        text =
            alloc_format("[launch.run]\nentry = k\ngrid = 33\nblock = block_size\n%s\n", flags[i]);
        make_well(scene, text);
        assert_true(scene->launch_plan.not_resident);
        assert_string_equal(scene->launch_plan.residency,
                            "launch 'run' has 33 blocks, but 4 SMs hold 8 each");
        free(text);
    }
    make_well(scene, "[launch.run]\nentry = k\ngrid = 33\nblock = block_size\nco_resident = no\n");
    assert_false(scene->launch_plan.not_resident);
}

static void shared_memory_counts_for_residency(void **state)
{
    struct scene *scene = *state;
    make_well(scene, "[launch.run]\nentry = k\ngrid = 5\nblock = 32\nshared_bytes = 65536\n"
                     "co_resident = yes\n");
    assert_true(scene->launch_plan.not_resident);
    assert_string_equal(scene->launch_plan.residency,
                        "launch 'run' has 5 blocks, but 4 SMs hold 1 each");
}

static void the_first_launch_that_does_not_fit_is_named(void **state)
{
    struct scene *scene = *state;
    make_well(scene, "[launch.one]\nentry = k\ngrid = 32\nblock = 256\nco_resident = yes\n"
                     "[launch.two]\nentry = k\ngrid = 34\nblock = 256\nco_resident = yes\n"
                     "[launch.three]\nentry = k\ngrid = 35\nblock = 256\nco_resident = yes\n");
    assert_true(scene->launch_plan.not_resident);
    assert_string_equal(scene->launch_plan.residency,
                        "launch 'two' has 34 blocks, but 4 SMs hold 8 each");
}

/* --- what does not fit --- */

static void numbers_out_of_range(void **state)
{
    struct scene *scene = *state;
    static const struct {
        const char *geometry;
        int line;
        const char *message;
    } cases[] = {
        {"grid = -1\nblock = 1\n", 22, "cannot evaluate '-1': grid of launch 'run' would be -1"},
        {"grid = 1, 2^31\nblock = 1\n", 22,
         "cannot evaluate '2^31': grid of launch 'run' would be 2147483648"},
        {"grid = 1\nblock = n - 1001\n", 23,
         "cannot evaluate 'n - 1001': block of launch 'run' would be -1 (n = 1000)"},
        {"grid = 1\nblock = 65536, 32768\n", 23,
         "cannot evaluate '65536': block of launch 'run' would be 65536 * 32768 * 1"},
        {"grid = 1\nblock = 1\nshared_bytes = -4\n", 24,
         "cannot evaluate '-4': shared_bytes of launch 'run' would be -4"},
        {"grid = 1\nblock = 1\nshared_bytes = 2^31\n", 24,
         "cannot evaluate '2^31': shared_bytes of launch 'run' would be 2147483648"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = alloc_format("[launch.run]\nentry = k\n%s", cases[i].geometry);
        assert_refused(scene, text, cases[i].line, cases[i].message);
        free(text);
    }
    assert_refused(scene, "[launch.run]\nentry = k\ngrid = n * 2^11, 2^21, 2^22\nblock = 1\n", 22,
                   "cannot evaluate 'n * 2^11': grid of launch 'run' would be 2048000 * 2097152 * "
                   "4194304 (n = 1000)");
    assert_refused(scene,
                   "[launch.run]\nentry = k\ngrid = 1\nblock = 2^31 - 1, 2^31 - 1, 2^31 - 1\n", 23,
                   "cannot evaluate '2^31 - 1': block of launch 'run' would be 2147483647 * "
                   "2147483647 * 2147483647");
    make_well(scene, "[launch.run]\nentry = k\ngrid = 2^21, 2^21, 2^20\nblock = 1\n");
    assert_true(step_blocks(&scene->launch_plan.steps[0]) == (int64_t)1 << 62);
    make_well(scene, "[launch.run]\nentry = k\ngrid = 2^31 - 1\nblock = 2048\n");
    assert_int_equal(scene->launch_plan.steps[0].grid[0], INT32_MAX);
}

static void metrics_that_are_no_numbers(void **state)
{
    struct scene *scene = *state;
    static const struct {
        const char *metric, *message;
    } cases[] = {
        {"1e300 * n * 1e300", "cannot evaluate '1e300 * n * 1e300': a metric must be a finite "
                              "number from 0 on (n = 1000)"},
        {"0.0 / (n - 1000)", NULL},
        {"-n", "cannot evaluate '-n': a metric must be a finite number from 0 on (n = 1000)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double bytes;
        double operations;
        char *text = alloc_format("[launch.run]\nentry = k\ngrid = 1\nblock = 1\n[metrics]\n"
                                  "bytes = run_grid\noperations = %s\n",
                                  cases[i].metric);
        make_well(scene, text);
        assert_int_equal(launch_plan_metrics(&scene->launch_plan, &scene->template, &scene->scope,
                                             &bytes, &operations, &scene->error),
                         ERROR_CONFIG);
        assert_true(bytes == 1);
        assert_true(operations == 0);
        if (cases[i].message != NULL)
            assert_string_equal(scene->error.message, cases[i].message);
        free(text);
    }
}

static void scalars_of_every_type(void **state)
{
    struct scene *scene = *state;
    make_well(scene, "[launch.run]\nentry = k\ngrid = 1\nblock = 1\n"
                     "arguments = int8 -128, uint16 65535, int32 n / 8, uint64 2^62, half factor, "
                     "bfloat16 factor,\n  float n, double 1 / 3\n");
    const struct step_argument *arguments = scene->launch_plan.steps[0].arguments;
    assert_memory_equal(arguments[0].bytes, &(int8_t){-128}, 1);
    assert_memory_equal(arguments[1].bytes, &(uint16_t){65535}, 2);
    assert_memory_equal(arguments[2].bytes, &(int32_t){125}, 4);
    assert_memory_equal(arguments[3].bytes, &(uint64_t){(uint64_t)1 << 62}, 8);
    assert_memory_equal(arguments[4].bytes, &(uint16_t){0x3e00}, 2);
    assert_memory_equal(arguments[5].bytes, &(uint16_t){0x3fc0}, 2);
    assert_memory_equal(arguments[6].bytes, &(float){1000}, 4);
    assert_memory_equal(arguments[7].bytes, &(double){1.0 / 3.0}, 8);
}

static void conditions_and_structs(void **state)
{
    struct scene *scene = *state;
    make_well(scene,
              "[launch.run]\nentry = k\ngrid = 1\nblock = 1\n"
              "arguments = bool n > 3, bool finish == \"atomic\", bool yes,\n"
              "  struct(int8 n / 100, double factor, bool n > 3, int32 -2), struct(uint16 7)\n");
    const struct step_argument *arguments = scene->launch_plan.steps[0].arguments;
    const struct {
        int8_t a;
        double b;
        bool c;
        int32_t d;
    } fields = {10, 1.5, true, -2};
    assert_int_equal(arguments[0].size, 1);
    assert_int_equal(arguments[0].bytes[0], 1);
    assert_int_equal(arguments[1].bytes[0], 0);
    assert_int_equal(arguments[2].bytes[0], 1);
    assert_int_equal(arguments[3].size, sizeof fields);
    assert_int_equal((int8_t)arguments[3].bytes[0], fields.a);
    assert_memory_equal(arguments[3].bytes + 8, &fields.b, 8);
    assert_int_equal(arguments[3].bytes[16], 1);
    assert_memory_equal(arguments[3].bytes + 20, &fields.d, 4);
    assert_int_equal(arguments[4].size, 2);
}

static void arguments_that_do_not_fit(void **state)
{
    struct scene *scene = *state;
    static const struct {
        const char *argument;
        int line;
        const char *message;
    } cases[] = {
        {"uint8 n", 24, "argument 'n' of launch 'run' does not fit uint8: 1000"},
        {"int8 128", 24, "argument '128' of launch 'run' does not fit int8: 128"},
        {"uint32 -1", 24, "argument '-1' of launch 'run' does not fit uint32: -1"},
        {"uint64 -1", 24, "argument '-1' of launch 'run' does not fit uint64: -1"},
        {"int32 2^31", 24, "argument '2^31' of launch 'run' does not fit int32: 2147483648"},
        {"int32 factor", 24,
         "cannot evaluate 'factor': it is not a whole number; // divides whole numbers, "
         "ceil_div(a, b) rounds up (factor = 1.5)"},
        {"float finish", 24, "cannot evaluate 'finish': it is not a number (finish = two_pass)"},
        {"float 1e308 * factor", 24,
         "argument '1e308 * factor' of launch 'run' does not fit float: 1.5e+308"},
        {"half 65520", 24, "argument '65520' of launch 'run' does not fit half: 65520"},
        {"double 1e308 * 10", 24, "argument '1e308 * 10' of launch 'run' does not fit double: inf"},
        {"struct(float 1e308 * 10 - 1e308 * 10)", 24,
         "argument '1e308 * 10 - 1e308 * 10' of launch 'run' does not fit float: nan"},
        {"(n > 3 and finish or in)", 24,
         "argument '(n > 3 and finish or in)' of launch 'run' is not a buffer"},
        {"(n > 3 and n or in)", 24,
         "argument '(n > 3 and n or in)' of launch 'run' is not a buffer"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = alloc_format("[launch.run]\nentry = k\ngrid = 1\nblock = 1\narguments = %s\n",
                                  cases[i].argument);
        assert_refused(scene, text, cases[i].line, cases[i].message);
        free(text);
    }
}

static void expressions_that_fail(void **state)
{
    struct scene *scene = *state;
    assert_refused(scene, "[launch.run]\nentry = k\ngrid = n // 0\nblock = 1\n", 22,
                   "cannot evaluate 'n // 0': division by zero: 'n // 0' (n = 1000)");
    assert_refused(
        scene, "[launch.run]\nentry = k\nwhen = n\ngrid = 1\nblock = 1\n", 22,
        "cannot evaluate 'n': 'n' is a number, not a condition; write 'n != 0' (n = 1000)");
    assert_refused(scene,
                   "[launch.run]\nentry = k\ngrid = 1\nblock = 1\nloop = i\nfrom = 1\n"
                   "while = i\nnext = i + 1\n",
                   26,
                   "cannot evaluate 'i': 'i' is a number, not a condition; write 'i != 0' (i = 1)");
    assert_refused(scene,
                   "[launch.run]\nentry = k\ngrid = 1\nblock = 1\nloop = i\nfrom = 1\n"
                   "while = i < 3\nnext = i * 9223372036854775807 + 1\n",
                   27,
                   "cannot evaluate 'i * 9223372036854775807 + 1': 'i * 9223372036854775807 + 1' "
                   "does not fit in 64 bits; multiply an operand by 1.0 to compute with real "
                   "numbers (i = 1)");
}

static void errors_of_the_look_ups(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(make(scene, "[launch.run]\nentry = missing\ngrid = 1\nblock = 1\n"),
                     ERROR_DEVICE);
    assert_string_equal(scene->error.message, "no kernel 'missing'");
    assert_int_equal(make(scene, "[launch.a]\nentry = k\ngrid = 1\nblock = 1\narguments = in\n"
                                 "[launch.run]\nentry = occupied\ngrid = 1\nblock = 1\n"),
                     ERROR_DEVICE);
    assert_string_equal(scene->error.message, "no room for 'occupied'");
    assert_null(scene->launch_plan.steps);
}

/* --- references --- */

static const char run[] = "[launch.run]\nentry = k\ngrid = 1\nblock = 1\n";

static void references(void **state)
{
    struct scene *scene = *state;
    load(scene, run,
         "[expect.out]\nreference = slow\ngrid = 2, 3\nblock = n // 10\nshared_bytes = 64\n"
         "arguments = in, reference, out, uint64 n\ncompare = exact\n");
    const struct expectation *expectation = &scene->template.expectations[0];
    assert_int_equal(launch_plan_helper(&scene->launch_plan, &scene->template,
                                        &expectation->reference, &scene->scope, &scene->error),
                     0);
    assert_int_equal(scene->launch_plan.step_count, 1);
    const struct step *step = &scene->launch_plan.steps[0];
    assert_string_equal(step->entry, "slow");
    assert_extents(step->grid, 2, 3, 1);
    assert_extents(step->block, 100, 1, 1);
    assert_int_equal(step->dynamic_shared_bytes, 64);
    assert_false(step->cooperative);
    assert_int_equal(step->argument_count, 4);
    assert_int_equal(step->arguments[0].buffer, 0);
    assert_int_equal(step->arguments[1].kind, ARGUMENT_BUFFER);
    assert_true(step->arguments[1].buffer == SIZE_MAX);
    assert_int_equal(step->arguments[2].buffer, 2);
    assert_memory_equal(step->arguments[3].bytes, &(uint64_t){1000}, 8);
}

static void references_have_one_thread_by_default(void **state)
{
    struct scene *scene = *state;
    load(scene, run, "[expect.out]\nreference = slow\ncompare = exact\n");
    assert_int_equal(launch_plan_helper(&scene->launch_plan, &scene->template,
                                        &scene->template.expectations[0].reference, &scene->scope,
                                        &scene->error),
                     0);
    assert_int_equal(step_blocks(&scene->launch_plan.steps[0]), 1);
    assert_int_equal(step_threads(&scene->launch_plan.steps[0]), 1);
    assert_int_equal(scene->launch_plan.steps[0].argument_count, 0);
}

static void references_with_nothing_to_do_or_wrong(void **state)
{
    struct scene *scene = *state;
    load(scene, run,
         "[expect.out]\nreference = slow\ngrid = n - 1000\narguments = in\n"
         "compare = exact\n");
    assert_int_equal(launch_plan_helper(&scene->launch_plan, &scene->template,
                                        &scene->template.expectations[0].reference, &scene->scope,
                                        &scene->error),
                     0);
    assert_int_equal(scene->launch_plan.step_count, 0);
    load(scene, run,
         "[expect.out]\nreference = slow\ngrid = -n\narguments = in\n"
         "compare = exact\n");
    assert_int_equal(launch_plan_helper(&scene->launch_plan, &scene->template,
                                        &scene->template.expectations[0].reference, &scene->scope,
                                        &scene->error),
                     ERROR_CONFIG);
    assert_string_equal(
        scene->error.message,
        "cannot evaluate '-n': grid of launch 'reference' would be -1000 (n = 1000)");
    assert_int_equal(scene->error.line, 26);
}

static void verifiers_have_a_counter(void **state)
{
    struct scene *scene = *state;
    load(scene, run,
         "[expect.out]\nreference = slow\n[verify.out]\nentry = count\ngrid = 2\n"
         "arguments = out, reference, wrong, uint64 n\n");
    const struct verifier *verifier = &scene->template.verifiers[0];
    assert_int_equal(scene->template.expectations[0].compare, COMPARE_NONE);
    assert_int_equal(verifier->expectation, 0);
    assert_int_equal(launch_plan_helper(&scene->launch_plan, &scene->template, &verifier->launch,
                                        &scene->scope, &scene->error),
                     0);
    const struct step *step = &scene->launch_plan.steps[0];
    assert_string_equal(step->entry, "count");
    assert_int_equal(step->argument_count, 4);
    assert_true(step->arguments[1].buffer == STEP_REFERENCE);
    assert_true(step->arguments[2].buffer == STEP_WRONG);
    assert_int_equal(step->arguments[2].size, 8);
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_scene, remove_scene)
    const struct CMUnitTest tests[] = {
        TEST(launches_in_order),
        TEST(three_dimensions),
        TEST(compiled_figures),
        TEST(figures_of_another_launch),
        TEST(conditions),
        TEST(nothing_to_do),
        TEST(the_main_launch),
        TEST(loops_are_unrolled),
        TEST(ping_pong),
        TEST(loops_that_do_not_begin),
        TEST(loops_over_words_and_reals),
        TEST(loops_end_at_4096),
        TEST(blocks_that_must_fit_at_once),
        TEST(shared_memory_counts_for_residency),
        TEST(the_first_launch_that_does_not_fit_is_named),
        TEST(numbers_out_of_range),
        TEST(metrics_that_are_no_numbers),
        TEST(scalars_of_every_type),
        TEST(conditions_and_structs),
        TEST(arguments_that_do_not_fit),
        TEST(expressions_that_fail),
        TEST(errors_of_the_look_ups),
        TEST(references),
        TEST(references_have_one_thread_by_default),
        TEST(references_with_nothing_to_do_or_wrong),
        TEST(verifiers_have_a_counter),
        cmocka_unit_test(a_tile_of_two_dimensions),
        cmocka_unit_test(five_dimensions_with_strides_and_steps),
        cmocka_unit_test(the_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
