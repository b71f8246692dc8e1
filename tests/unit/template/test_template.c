#include "template/template.h"

#include "base/alloc.h"
#include "template/template_load.h"
#include "unit/comma_locale.h"

#include <autotune/tuned.h>
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
    char path[96];   /* folder/sum.ini */
    char source[96]; /* folder/sum.cu */
    struct template template;
    struct error error;
};

static void write_file(const char *path, const char *text)
{
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
}

static int make_scene(void **state)
{
    struct scene *scene = alloc_zeroed(1, sizeof *scene);
    *state = scene;
    (void)snprintf(scene->folder, sizeof scene->folder, "/tmp/test_template.XXXXXX");
    if (mkdtemp(scene->folder) == NULL)
        return -1;
    (void)snprintf(scene->path, sizeof scene->path, "%s/sum.ini", scene->folder);
    (void)snprintf(scene->source, sizeof scene->source, "%s/sum.cu", scene->folder);
    write_file(scene->source, "extern \"C\" __global__ void k() {}\n");
    return 0;
}

static int remove_scene(void **state)
{
    struct scene *scene = *state;
    template_release(&scene->template);
    (void)unlink(scene->path);
    (void)unlink(scene->source);
    int status = rmdir(scene->folder);
    free(scene);
    return status;
}

/* Loads `text`, in place of what was loaded before. */
static int load(struct scene *scene, const char *text)
{
    template_release(&scene->template);
    write_file(scene->path, text);
    scene->error = (struct error){0};
    return template_load(&scene->template, scene->path, &scene->error);
}

static void load_well(struct scene *scene, const char *text)
{
    if (load(scene, text) != 0)
        fail_msg("line %d is refused: %s", scene->error.line, scene->error.message);
}

/* A template that is right; the tests below spoil one thing at a time. */
static const char right[] = "[parameters]\n"                                   /* 1 */
                            "block_size = 256\n"                               /* 2 */
                            "finish = two_pass | atomic\n"                     /* 3 */
                            "[launch_parameters]\n"                            /* 4 */
                            "factor = 1.5\n"                                   /* 5 */
                            "[problem]\n"                                      /* 6 */
                            "n = 1024\n"                                       /* 7 */
                            "value_type = float | int32\n"                     /* 8 */
                            "[buffer.in]\n"                                    /* 9 */
                            "type = value_type\n"                              /* 10 */
                            "length = n\n"                                     /* 11 */
                            "access = read\n"                                  /* 12 */
                            "fill = uniform(-1, 1)\n"                          /* 13 */
                            "[buffer.partials]\n"                              /* 14 */
                            "type = double\n"                                  /* 15 */
                            "length = partial_grid\n"                          /* 16 */
                            "access = scratch\n"                               /* 17 */
                            "[buffer.out]\n"                                   /* 18 */
                            "type = value_type\n"                              /* 19 */
                            "length = 1\n"                                     /* 20 */
                            "access = write\n"                                 /* 21 */
                            "[launch.partial]\n"                               /* 22 */
                            "entry = k\n"                                      /* 23 */
                            "grid = ceil_div(n, block_size)\n"                 /* 24 */
                            "block = block_size\n"                             /* 25 */
                            "arguments = in, partials, uint64 n\n"             /* 26 */
                            "[launch.finish]\n"                                /* 27 */
                            "entry = f\n"                                      /* 28 */
                            "grid = 1\n"                                       /* 29 */
                            "block = 32\n"                                     /* 30 */
                            "arguments = partials, out, uint32 partial_grid\n" /* 31 */
                            "[expect.out]\n"                                   /* 32 */
                            "reference = sum_reference\n"                      /* 33 */
                            "arguments = in, reference, uint64 n\n"            /* 34 */
                            "compare = relative(1e-5)\n"                       /* 35 */
                            "[metrics]\n"                                      /* 36 */
                            "bytes = 4 * n\n";                                 /* 37 */

/* `right` with the first `from` replaced by `to`; a new string. */
static char *spoiled(const char *from, const char *to)
{
    const char *at = strstr(right, from);
    if (at == NULL)
        fail_msg("the template has no '%s'", from);
    return alloc_format("%.*s%s%s", (int)(at - right), right, to, at + strlen(from));
}

struct fault {
    const char *from, *to;
    int line;
    const char *message;
};

static void assert_faults(struct scene *scene, const struct fault *faults, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *text = spoiled(faults[i].from, faults[i].to);
        if (load(scene, text) != ERROR_CONFIG)
            fail_msg("'%s' is accepted", faults[i].to);
        assert_string_equal(scene->error.message, faults[i].message);
        assert_int_equal(scene->error.line, faults[i].line);
        assert_string_equal(scene->error.file, scene->path);
        assert_null(scene->template.name); /* empty */
        free(text);
    }
}

#define ASSERT_FAULTS(state, faults)                                                               \
    assert_faults(*(state), (faults), sizeof(faults) / sizeof *(faults))

static void assert_text(const struct expression *expression, const char *text)
{
    assert_non_null(expression);
    assert_string_equal(expression_text(expression), text);
}

/* --- what loads --- */

/* The example of kernel_templates/README.md. */
static const char example[] =
    "[kernel]\n"
    "source = sum.cu                     ; relative to this file; default NAME.cu\n"
    "description = sum of n numbers      ; one line, shown in reports\n"
    "options = --use_fast_math           ; further NVRTC options, separated by spaces\n"
    "include = ..                        ; further include folders, as ../include\n"
    "                                    ; (this file's folder is always found)\n"
    "constraint = block_size % 32 == 0   ; any number of them; a sweep can add more\n"
    "cache = cold                        ; L2 before each timed sample\n"
    "\n"
    "[parameters]                        ; compile-time tunables with their defaults\n"
    "block_size = 256                    ; NVRTC gets -DBLOCK_SIZE=256\n"
    "finish = two_pass | atomic          ; a word\n"
    "                                    ;   #define FINISH_TWO_PASS 0\n"
    "[launch_parameters]                 ; tunables that only expressions see\n"
    "blocks_per_sm_wanted = 1\n"
    "\n"
    "[problem]                           ; what the application gives\n"
    "n = 2^24                            ; whole and real numbers\n"
    "value_type = float | int32          ; words\n"
    "\n"
    "[buffer.in]\n"
    "type = float                        ; int8 … int64\n"
    "length = n                          ; elements\n"
    "access = read                       ; read: must be left as it was (checked)\n"
    "fill = uniform(-1, 1)               ; constant(x)\n"
    "\n"
    "[buffer.partials]\n"
    "type = float\n"
    "length = partial_grid\n"
    "access = scratch\n"
    "\n"
    "[buffer.out]\n"
    "type = float\n"
    "length = 1\n"
    "access = write\n"
    "\n"
    "[launch.partial]                    ; launches run in the order of the file\n"
    "entry = reduce_partial              ; an extern \"C\" __global__ function\n"
    "when = finish == \"two_pass\"         ; default: always\n"
    "grid = min(ceil_div(n, block_size), sm_count * blocks_per_sm)   ; 1 to 3 expressions\n"
    "block = block_size                  ; 1 to 3 expressions\n"
    "shared_bytes = 0                    ; dynamic shared memory\n"
    "arguments = in, partials, uint64 n  ; buffers by name, scalars\n"
    "cooperative = no                    ; yes, no or an expression\n"
    "co_resident = no                    ; yes, no or an expression\n"
    "main = no                           ; the launch whose figures the reports show\n"
    "loop = stride                       ; repeat this launch\n"
    "from = 1\n"
    "while = stride < n\n"
    "next = stride * 2\n"
    "\n"
    "[expect.out]                        ; at least one\n"
    "reference = reduce_reference        ; an entry of the same source\n"
    "reference_type = double             ; element type that the reference writes\n"
    "grid = 1                            ; the reference's launch; default 1\n"
    "block = 1024                        ; default 1\n"
    "arguments = in, reference, uint64 n ; `reference` is the reference's own output\n"
    "compare = relative(1e-5)            ; exact, absolute(e), relative(e), unordered\n"
    "\n"
    "[metrics]\n"
    "bytes = 4 * n                       ; moved by one run of all launches\n"
    "operations = n                      ; gives GFLOP/s (or Gop/s)\n";

static void check_example_launch(const struct template *template)
{
    assert_int_equal(template->launch_count, 1);
    const struct launch *launch = &template->launches[0];
    assert_string_equal(launch->name, "partial");
    assert_string_equal(launch->entry, "reduce_partial");
    assert_text(launch->when, "finish == \"two_pass\"");
    assert_int_equal(launch->grid_count, 1);
    assert_text(launch->grid[0], "min(ceil_div(n, block_size), sm_count * blocks_per_sm)");
    assert_int_equal(launch->block_count, 1);
    assert_text(launch->block[0], "block_size");
    assert_text(launch->shared_bytes, "0");
    assert_int_equal(launch->argument_count, 3);
    assert_int_equal(launch->arguments[0].kind, ARGUMENT_BUFFER);
    assert_text(launch->arguments[0].expression, "in");
    assert_int_equal(launch->arguments[1].kind, ARGUMENT_BUFFER);
    assert_int_equal(launch->arguments[2].kind, ARGUMENT_SCALAR);
    assert_int_equal(launch->arguments[2].type, ELEMENT_UINT64);
    assert_text(launch->cooperative, "no");
    assert_text(launch->co_resident, "no");
    assert_false(launch->main);
    assert_string_equal(launch->loop, "stride");
    assert_text(launch->from, "1");
    assert_text(launch->condition, "stride < n");
    assert_text(launch->next, "stride * 2");
}

static void check_example_expectation(const struct template *template)
{
    assert_int_equal(template->expectation_count, 1);
    const struct expectation *expectation = &template->expectations[0];
    assert_string_equal(template->buffers[expectation->buffer].name, "out");
    assert_int_equal(expectation->kind, EXPECT_REFERENCE);
    assert_string_equal(expectation->reference.entry, "reduce_reference");
    assert_string_equal(expectation->reference_type, "double");
    assert_text(expectation->reference.grid[0], "1");
    assert_text(expectation->reference.block[0], "1024");
    assert_int_equal(expectation->reference.argument_count, 3);
    assert_int_equal(expectation->reference.arguments[1].kind, ARGUMENT_BUFFER);
    assert_int_equal(expectation->compare, COMPARE_CLOSE);
    assert_text(expectation->relative, "1e-5");
    assert_null(expectation->absolute);
}

static void the_example_of_the_readme_loads(void **state)
{
    struct scene *scene = *state;
    struct template *template = &scene->template;
    load_well(scene, example);
    assert_string_equal(template->name, "sum");
    assert_string_equal(template->description, "sum of n numbers");
    assert_int_equal(template->option_count, 1);
    assert_string_equal(template->options[0].text, "--use_fast_math");
    assert_true(template->cold);
    assert_int_equal(template->constraint_count, 1);
    assert_text(template->constraints[0], "block_size % 32 == 0");
    assert_int_equal(template->parameter_count, 3);
    assert_int_equal(template->problem_count, 2);
    assert_int_equal(template->buffer_count, 3);
    assert_int_equal(template->buffers[0].access, ACCESS_READ);
    assert_int_equal(template->buffers[0].fill.kind, FILL_UNIFORM);
    assert_int_equal(template->buffers[1].access, ACCESS_SCRATCH);
    assert_int_equal(template->buffers[1].fill.kind, FILL_NONE);
    assert_int_equal(template->buffers[2].access, ACCESS_WRITE);
    check_example_launch(template);
    check_example_expectation(template);
    assert_text(template->bytes, "4 * n");
    assert_text(template->operations, "n");
    assert_int_equal(strlen(template->hash), 32);
}

static void parameters_in_the_order_of_the_file(void **state)
{
    struct scene *scene = *state;
    struct template *template = &scene->template;
    load_well(scene, right);
    assert_string_equal(template->parameters[0].name, "block_size");
    assert_true(value_equal(template->parameters[0].fallback, value_integer(256)));
    assert_null(template->parameters[0].words);
    assert_true(template->parameters[0].compiled);
    assert_int_equal(template->parameters[0].line, 2);
    assert_string_equal(template->parameters[1].name, "finish");
    assert_true(value_equal(template->parameters[1].fallback, value_word("two_pass")));
    assert_int_equal(template->parameters[1].word_count, 2);
    assert_string_equal(template->parameters[1].words[1], "atomic");
    assert_true(template->parameters[1].compiled);
    assert_string_equal(template->parameters[2].name, "factor");
    assert_false(template->parameters[2].compiled);
    /* of the problem, only words are compiled in */
    assert_string_equal(template->problem[0].name, "n");
    assert_false(template->problem[0].compiled);
    assert_true(template->problem[1].compiled);
    assert_ptr_equal(template_parameter(template, "finish"), &template->parameters[1]);
    assert_null(template_parameter(template, "n"));
    assert_ptr_equal(template_problem_value(template, "n"), &template->problem[0]);
    assert_null(template_problem_value(template, "finish"));
}

static void what_may_be_left_out(void **state)
{
    struct scene *scene = *state;
    struct template *template = &scene->template;
    load_well(scene, "[buffer.out]\ntype = float\nlength = 1\naccess = write\n"
                     "[launch.run]\nentry = k\ngrid = 1\nblock = 1\n"
                     "[expect.out]\nreference = constant(0)\ncompare = exact\n");
    assert_string_equal(template->description, "");
    assert_int_equal(template->option_count, 0);
    assert_true(template->cold);
    assert_int_equal(template->parameter_count, 0);
    assert_int_equal(template->problem_count, 0);
    assert_null(template->launches[0].when);
    assert_null(template->launches[0].shared_bytes);
    assert_null(template->launches[0].cooperative);
    assert_null(template->launches[0].co_resident);
    assert_null(template->launches[0].loop);
    assert_int_equal(template->launches[0].argument_count, 0);
    assert_int_equal(template->expectations[0].kind, EXPECT_CONSTANT);
    assert_int_equal(template->expectations[0].compare, COMPARE_EXACT);
    assert_null(template->expectations[0].reference_type);
    assert_null(template->bytes);
    assert_null(template->operations);
}

static void options_are_separated_by_blanks(void **state)
{
    struct scene *scene = *state;
    char *text =
        alloc_format("[kernel]\noptions = -lineinfo   --use_fast_math\ncache = warm\n%s", right);
    load_well(scene, text);
    assert_int_equal(scene->template.option_count, 2);
    assert_string_equal(scene->template.options[0].text, "-lineinfo");
    assert_string_equal(scene->template.options[1].text, "--use_fast_math");
    assert_false(scene->template.cold);
    free(text);
}

static void fills_of_every_kind(void **state)
{
    struct scene *scene = *state;
    static const struct {
        const char *text;
        enum fill_kind kind;
        size_t arguments;
    } cases[] = {
        {"constant(n)", FILL_CONSTANT, 1},
        {"uniform(-1, 1)", FILL_UNIFORM, 2},
        {"uniform(0, 1, 42)", FILL_UNIFORM, 3},
        {"integers(-8, 8)", FILL_INTEGERS, 2},
        {"integers(0, n - 1, 7)", FILL_INTEGERS, 3},
        {"counting(0, 1)", FILL_COUNTING, 2},
        {"counting (max(1, 2), 1)", FILL_COUNTING, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = spoiled("uniform(-1, 1)", cases[i].text);
        load_well(scene, text);
        assert_int_equal(scene->template.buffers[0].fill.kind, cases[i].kind);
        assert_int_equal(scene->template.buffers[0].fill.argument_count, cases[i].arguments);
        free(text);
    }
    char *text = spoiled("uniform(-1, 1)", "file(data/x.npy)");
    char *path = alloc_format("%s/data/x.npy", scene->folder);
    load_well(scene, text);
    assert_int_equal(scene->template.buffers[0].fill.kind, FILL_FILE);
    assert_string_equal(scene->template.buffers[0].fill.path, path);
    free(text);
    free(path);
    text = spoiled("uniform(-1, 1)", "file(/data/x.npy)");
    load_well(scene, text);
    assert_string_equal(scene->template.buffers[0].fill.path, "/data/x.npy");
    free(text);
}

static void scratch_may_have_a_fill_and_a_tunable_type(void **state)
{
    struct scene *scene = *state;
    char *text = spoiled("[buffer.partials]\ntype = double\n",
                         "[buffer.partials]\nfill = constant(0)\ntype = double\n");
    load_well(scene, text);
    assert_int_equal(scene->template.buffers[1].fill.kind, FILL_CONSTANT);
    free(text);
    text = spoiled("finish = two_pass | atomic\n[launch_parameters]\nfactor = 1.5\n[problem]\n"
                   "n = 1024\nvalue_type = float | int32\n",
                   "accumulator = float | double\n[problem]\nn = 8\nvalue_type = half\n");
    char *type = strstr(text, "type = double");
    char *whole = alloc_format("%.*stype = accumulator%s", (int)(type - text), text, type + 13);
    load_well(scene, whole);
    assert_string_equal(scene->template.buffers[1].type, "accumulator");
    free(text);
    free(whole);
}

static void comparisons_of_every_kind(void **state)
{
    struct scene *scene = *state;
    static const struct {
        const char *text;
        enum compare_kind kind;
        const char *absolute, *relative;
    } cases[] = {
        {"exact", COMPARE_EXACT, NULL, NULL},
        {"unordered", COMPARE_UNORDERED, NULL, NULL},
        {"absolute(1e-6)", COMPARE_CLOSE, "1e-6", NULL},
        {"relative(n > 3 and 1e-4 or 1e-5)", COMPARE_CLOSE, NULL, "n > 3 and 1e-4 or 1e-5"},
        {"close(max(1e-6, 0), n * 1e-9)", COMPARE_CLOSE, "max(1e-6, 0)", "n * 1e-9"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = spoiled("relative(1e-5)", cases[i].text);
        load_well(scene, text);
        const struct expectation *expectation = &scene->template.expectations[0];
        assert_int_equal(expectation->compare, cases[i].kind);
        assert_int_equal(expectation->absolute != NULL, cases[i].absolute != NULL);
        assert_int_equal(expectation->relative != NULL, cases[i].relative != NULL);
        if (cases[i].absolute != NULL)
            assert_text(expectation->absolute, cases[i].absolute);
        if (cases[i].relative != NULL)
            assert_text(expectation->relative, cases[i].relative);
        free(text);
    }
}

static void expectations_of_every_kind(void **state)
{
    struct scene *scene = *state;
    char *text = spoiled("reference = sum_reference\narguments = in, reference, uint64 n\n",
                         "reference = file(out.npy)\n");
    char *path = alloc_format("%s/out.npy", scene->folder);
    load_well(scene, text);
    assert_int_equal(scene->template.expectations[0].kind, EXPECT_FILE);
    assert_string_equal(scene->template.expectations[0].fill.path, path);
    free(path);
    free(text);
    text = spoiled("reference = sum_reference\narguments = in, reference, uint64 n\n",
                   "reference = constant(n * 2)\n");
    load_well(scene, text);
    assert_int_equal(scene->template.expectations[0].kind, EXPECT_CONSTANT);
    assert_text(scene->template.expectations[0].fill.arguments[0], "n * 2");
    free(text);
}

static void buffers_may_take_turns(void **state)
{
    struct scene *scene = *state;
    char *text = spoiled("arguments = in, partials, uint64 n\n",
                         "loop = stride\nfrom = 1\nwhile = stride < n\nnext = stride * 2\n"
                         "arguments = (iteration % 2 == 0 and in or partials), uint64 stride\n");
    load_well(scene, text);
    assert_int_equal(scene->template.launches[0].argument_count, 2);
    assert_int_equal(scene->template.launches[0].arguments[0].kind, ARGUMENT_BUFFER);
    free(text);
}

static void the_hash_is_of_content(void **state)
{
    struct scene *scene = *state;
    char first[HASH_BYTES];
    load_well(scene, right);
    memcpy(first, scene->template.hash, sizeof first);
    char *text = spoiled("block_size = 256\n", "; a comment\nblock_size   =   256   ; another\n");
    load_well(scene, text);
    assert_string_equal(scene->template.hash, first);
    free(text);
    text = spoiled("block_size = 256\n", "block_size = 128\n");
    load_well(scene, text);
    assert_string_not_equal(scene->template.hash, first);
    free(text);
    write_file(scene->source, "extern \"C\" __global__ void k(int) {}\n");
    load_well(scene, right);
    assert_string_not_equal(scene->template.hash, first);
}

/* Results on other numbers do not count: a change of the generator is one of the hash. */
static void the_hash_is_of_the_generator_of_fills(void **state)
{
    struct scene *scene = *state;
    write_file(scene->source, "extern \"C\" __global__ void k(float *) {}\n");
    load_well(scene, "[buffer.a]\ntype = float\nlength = 8\naccess = read_write\n"
                     "fill = uniform(0, 1)\n[launch.k]\nentry = k\ngrid = 1\nblock = 1\n"
                     "arguments = a\n[expect.a]\nreference = constant(0)\ncompare = exact\n");
    /* of the generator that gave all buffers without a seed the same numbers */
    assert_string_not_equal(scene->template.hash, "e011b78acd1b2448172b2bcee494f00f");
}

/* Writing the template otherwise is not another version: applications keep their configurations. */
static void comments_descriptions_and_layout_keep_the_hash(void **state)
{
    struct scene *scene = *state;
    static const struct {
        const char *from, *to;
    } same[] = {
        {"[parameters]\n", "; remark\n\n[kernel]\ndescription = sums numbers\n[parameters]\n"},
        {"block_size = 256\n", "block_size=256 ; threads\n"},
        {"type = value_type\nlength = n\n", "length = n\ntype = value_type\n"},
        {"ceil_div(n, block", "ceil_div( n ,\n    block"},
        {"[metrics]\nbytes = 4 * n\n", "[metrics]\nbytes = 4*n\n"},
    };
    static const struct {
        const char *from, *to;
    } different[] = {
        {"[parameters]\n", "[kernel]\noptions = -a\n[parameters]\n"},
        {"[parameters]\n", "[kernel]\noptions = -a -b\n[parameters]\n"},
        {"[parameters]\n", "[kernel]\noptions = -a-b\n[parameters]\n"},
        {"[parameters]\n", "[kernel]\ncache = warm\n[parameters]\n"},
        {"[parameters]\n", "[kernel]\nconstraint = block_size > 1\n[parameters]\n"},
        {"block_size = 256\n", "block_size = 256\nsize = 1\n"},
        {"block_size = 256\n", "size = 1\nblock_size = 256\n"},
    };
    char first[HASH_BYTES];
    char hashes[sizeof different / sizeof *different][HASH_BYTES];
    load_well(scene, right);
    memcpy(first, scene->template.hash, sizeof first);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        char *text = spoiled(same[i].from, same[i].to);
        load_well(scene, text);
        free(text);
        if (strcmp(scene->template.hash, first) != 0)
            fail_msg("another hash with '%s'", same[i].to);
    }
    for (size_t i = 0; i < sizeof different / sizeof *different; i++) {
        char *text = spoiled(different[i].from, different[i].to);
        load_well(scene, text);
        free(text);
        memcpy(hashes[i], scene->template.hash, sizeof hashes[i]);
        assert_string_not_equal(hashes[i], first);
        for (size_t j = 0; j < i; j++)
            if (strcmp(hashes[i], hashes[j]) == 0)
                fail_msg("the same hash with '%s'", different[i].to);
    }
    load_well(scene, right);
    write_file(scene->source, "// a remark\nextern \"C\"\n__global__ void k ( ) { }\n");
    load_well(scene, right);
    assert_string_equal(scene->template.hash, first);
}

static void precompiled_headers(void **state)
{
    struct scene *scene = *state;
    char hash[HASH_BYTES];
    write_file(scene->source, "#if FINISH\n#include <cooperative_groups.h>\n#endif\n");
    load_well(scene, right);
    assert_int_equal(scene->template.precompiled_count, 0);
    memcpy(hash, scene->template.hash, sizeof hash);
    char *text =
        spoiled("[problem]\n",
                "[precompiled_headers]\ncooperative_groups.h = finish == \"atomic\"\n[problem]\n");
    load_well(scene, text);
    assert_int_equal(scene->template.precompiled_count, 1);
    assert_string_equal(scene->template.precompiled[0].name, "cooperative_groups.h");
    assert_string_equal(scene->template.hash, hash); /* what is tuned is the same */
    free(text);
}

/* --- what does not --- */

static void unknown_sections_and_keys(void **state)
{
    static const struct fault faults[] = {
        {"[problem]", "[problems]", 6, "unknown section 'problems'; did you mean 'problem'?"},
        {"[buffer.in]", "[buffers.in]", 9,
         "unknown section 'buffers.in'; expected one of: kernel, parameters, launch_parameters, "
         "problem, "
         "buffer.NAME, launch.NAME, expect.NAME, verify.NAME, metrics, precompiled_headers, "
         "figures"},
        {"[launch.finish]", "[launch.]", 27,
         "unknown section 'launch.'; expected one of: kernel, parameters, launch_parameters, "
         "problem, "
         "buffer.NAME, launch.NAME, expect.NAME, verify.NAME, metrics, precompiled_headers, "
         "figures"},
        {"[parameters]\n", "stray = 1\n[parameters]\n", 1,
         "key 'stray' is before the first section"},
        {"[parameters]\n", "[kernel]\nsauce = x.cu\n[parameters]\n", 2,
         "unknown key 'sauce'; did you mean 'source'?"},
        {"length = n\n", "lenght = n\n", 11, "unknown key 'lenght'; did you mean 'length'?"},
        {"entry = k\n", "entrance = k\n", 23,
         "unknown key 'entrance'; expected one of: entry, when, grid, block, shared_bytes, "
         "arguments, "
         "cooperative, co_resident, cluster, programmatic, cluster_scheduling, shared_carveout, "
         "main, loop, from, while, next"},
        {"compare = relative(1e-5)\n", "compares = exact\n", 35,
         "unknown key 'compares'; did you mean 'compare'?"},
        {"bytes = 4 * n\n", "byte = 4 * n\n", 37, "unknown key 'byte'; did you mean 'bytes'?"},
        {"bytes = 4 * n\n", "flops = n\n", 37,
         "unknown key 'flops'; expected one of: bytes, operations"},
    };
    ASSERT_FAULTS(state, faults);
}

static void headers_that_cannot_be_precompiled(void **state)
{
    static const struct fault faults[] = {
        {"[metrics]\n", "[precompiled_headers]\ncuda/atomic = yes\n[metrics]\n", 37,
         "the source includes no toolkit header 'cuda/atomic'; only such headers can "
         "be precompiled"},
        {"[metrics]\n", "[precompiled_headers]\nsum.cu = yes\n[metrics]\n", 37,
         "the source includes no toolkit header 'sum.cu'; only such headers can be "
         "precompiled"},
        {"[metrics]\n", "[precompiled_headers]\ncooperative_groups.h = sm_count > 100\n[metrics]\n",
         37, "unknown name 'sm_count'; expected one of: block_size, finish, factor, n, value_type"},
    };
    struct scene *scene = *state;
    write_file(scene->source, "#include <cooperative_groups.h>\n#include \"sum.cu\"\n");
    ASSERT_FAULTS(state, faults);
}

static void missing_keys(void **state)
{
    static const struct fault faults[] = {
        {"type = value_type\n", "", 9, "section 'buffer.in' has no key 'type'"},
        {"length = n\n", "", 9, "section 'buffer.in' has no key 'length'"},
        {"access = read\n", "", 9, "section 'buffer.in' has no key 'access'"},
        {"fill = uniform(-1, 1)\n", "", 9, "buffer 'in' needs a fill, such as uniform(-1, 1)"},
        {"access = read\nfill = uniform(-1, 1)\n", "access = read_write\n", 9,
         "buffer 'in' needs a fill, such as uniform(-1, 1)"},
        {"entry = k\n", "", 22, "section 'launch.partial' has no key 'entry'"},
        {"grid = ceil_div(n, block_size)\n", "", 22, "section 'launch.partial' has no key 'grid'"},
        {"block = block_size\n", "", 22, "section 'launch.partial' has no key 'block'"},
        {"reference = sum_reference\n", "", 32, "section 'expect.out' has no key 'reference'"},
        {"compare = relative(1e-5)\n", "", 32, "section 'expect.out' has no key 'compare'"},
        {"entry = k\n", "entry = k\nloop = stride\nwhile = stride < n\nnext = stride * 2\n", 22,
         "section 'launch.partial' has no key 'from'"},
        {"entry = k\n", "entry = k\nloop = stride\nfrom = 1\nnext = stride * 2\n", 22,
         "section 'launch.partial' has no key 'while'"},
        {"entry = k\n", "entry = k\nloop = stride\nfrom = 1\nwhile = stride < n\n", 22,
         "section 'launch.partial' has no key 'next'"},
        {"entry = k\n", "entry = k\nwhile = n > 3\n", 24, "'while' without a 'loop' variable"},
    };
    ASSERT_FAULTS(state, faults);
}

static void outputs_are_checked_or_unchecked_on_purpose(void **state)
{
    static const struct fault faults[] = {
        {"access = read\n", "access = read_write\n", 9,
         "nothing checks what is written to buffer 'in'; add an [expect] or a [verify] section for "
         "it, or `unchecked = yes` if any contents are right"},
        {"access = read\n", "access = read\nunchecked = yes\n", 9,
         "buffer 'in' is not an output; leave out `unchecked`"},
        {"access = scratch\n", "access = scratch\nunchecked = yes\n", 14,
         "buffer 'partials' is not an output; leave out `unchecked`"},
        {"access = write\n", "access = write\nunchecked = yes\n", 18,
         "buffer 'out' is unchecked, but has an expected result or a verifier"},
        {"access = write\n", "access = write\nunchecked = maybe\n", 22,
         "unchecked 'maybe' is neither yes nor no"},
    };
    struct scene *scene = *state;
    ASSERT_FAULTS(state, faults);
    char *text = spoiled("access = read\n", "access = read_write\nunchecked = yes\n");
    load_well(scene, text);
    assert_true(scene->template.buffers[0].unchecked);
    assert_false(scene->template.buffers[2].unchecked);
    free(text);
    text = spoiled("[metrics]\n", "[verify.in]\nentry = count\narguments = in, wrong\n[metrics]\n");
    char *access = strstr(text, "access = read\nfill");
    char *judged = alloc_format("%.*saccess = read_write\nfill%s", (int)(access - text), text,
                                access + strlen("access = read\nfill"));
    load_well(scene, judged);
    free(judged);
    free(text);
}

/* Which variants have, and helpers do not. */
static void scratch_is_not_for_helpers(void **state)
{
    static const struct fault faults[] = {
        {"arguments = in, reference, uint64 n\n", "arguments = partials, reference, uint64 n\n", 34,
         "a reference cannot use scratch buffer 'partials'"},
        {"access = write\n", "access = scratch\n", 32,
         "scratch buffer 'out' has no expected result; make it write or read_write"},
        {"[metrics]\n", "[verify.out]\nentry = count\narguments = partials, wrong\n[metrics]\n", 38,
         "a verifier cannot use scratch buffer 'partials'"},
    };
    ASSERT_FAULTS(state, faults);
}

static void missing_sections(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(load(scene, ""), ERROR_CONFIG);
    assert_string_equal(scene->error.message,
                        "the template has no [launch.NAME] section: nothing to run");
    assert_int_equal(load(scene, "[launch.run]\nentry = k\ngrid = 1\nblock = 1\n"), ERROR_CONFIG);
    assert_string_equal(scene->error.message,
                        "the template has no [expect.NAME] section: nothing would be verified");
    assert_int_equal(load(scene, "[launch.run]\nentry = k\ngrid = 1\nblock = 1\n[expect.out]\n"
                                 "reference = constant(0)\ncompare = exact\n"),
                     ERROR_CONFIG);
    assert_string_equal(scene->error.message, "unknown buffer 'out': the template has no buffers");
    assert_int_equal(scene->error.line, 5);
}

static void names_that_are_refused(void **state)
{
    static const struct fault faults[] = {
        {"block_size = 256\n", "Block = 256\n", 2,
         "name 'Block' must consist of at most 31 lower-case letters, digits and underscores"},
        {"block_size = 256\n", "block-size = 256\n", 2,
         "name 'block-size' must consist of at most 31 lower-case letters, digits and underscores"},
        {"block_size = 256\n", "a2345678901234567890123456789012 = 256\n", 2,
         "name 'a2345678901234567890123456789012' must consist of at most 31 lower-case letters, "
         "digits "
         "and "
         "underscores"},
        {"block_size = 256\n", "2d = 256\n", 2,
         "name '2d' must consist of at most 31 lower-case letters, digits and underscores"},
        {"block_size = 256\n", "b = 256\n", 2,
         "name 'b' is one letter, which as a macro would break the compiler's own headers; choose "
         "a longer one"},
        {"value_type = float", "v = float", 8,
         "name 'v' is one letter, which as a macro would break the compiler's own headers; choose "
         "a longer one"},
        {"block_size = 256\n", "cache = 1\n", 2,
         "name 'cache' has another meaning in expressions; choose another name"},
        {"block_size = 256\n", "constraint = 1\n", 2,
         "name 'constraint' has another meaning in expressions; choose another name"},
        {"block_size = 256\n", "template = 1\n", 2,
         "name 'template' has another meaning in expressions; choose another name"},
        {"block_size = 256\n", "sm_count = 1\n", 2,
         "name 'sm_count' has another meaning in expressions; choose another name"},
        {"block_size = 256\n", "occupancy = 1\n", 2,
         "name 'occupancy' has another meaning in expressions; choose another name"},
        {"block_size = 256\n", "block_threads = 1\n", 2,
         "name 'block_threads' has another meaning in expressions; choose another name"},
        {"block_size = 256\n", "min = 1\n", 2,
         "name 'min' has another meaning in expressions; choose another name"},
        {"block_size = 256\n", "and = 1\n", 2,
         "name 'and' has another meaning in expressions; choose another name"},
        {"factor = 1.5\n", "block_size = 1\n", 5, "name 'block_size' is given twice"},
        {"n = 1024\n", "finish = 1\n", 7, "name 'finish' is given twice"},
        {"[buffer.in]", "[buffer.n]", 9, "name 'n' is given twice"},
        {"[buffer.in]", "[buffer.In]", 9,
         "name 'In' must consist of at most 31 lower-case letters, digits and underscores"},
        {"[buffer.in]", "[buffer.reference]", 9,
         "name 'reference' has another meaning in expressions; choose another name"},
        {"[launch.finish]", "[launch.The End]", 27,
         "name 'The End' must consist of at most 31 lower-case letters, digits and underscores"},
        {"factor = 1.5\n", "finish_grid = 1\n", 27, "name 'finish_grid' is given twice"},
        {"[buffer.partials]", "[buffer.partial_block]", 22, "name 'partial_block' is given twice"},
        {"entry = k\n", "entry = k\nloop = n\n", 24, "name 'n' is given twice"},
        {"entry = k\n", "entry = k\nloop = in\n", 24, "name 'in' is given twice"},
        {"entry = k\n", "entry = k\nloop = finish_grid\n", 24, "name 'finish_grid' is given twice"},
        {"entry = k\n", "entry = k\nloop = registers\n", 24,
         "name 'registers' has another meaning in expressions; choose another name"},
    };
    ASSERT_FAULTS(state, faults);
}

static void one_letter_will_do_where_nothing_is_defined(void **state)
{
    struct scene *scene = *state;
    char *text = spoiled("factor = 1.5\n", "f = 1.5\n");
    load_well(scene, text);
    free(text);
}

/* `count` more members of a section behind the line `after`, which stays. */
static int load_more(struct scene *scene, const char *after, int count)
{
    char *more = alloc_string(after);
    for (int i = 0; i < count; i++) {
        char *longer = alloc_format("%smore_%d = 1\n", more, i);
        free(more);
        more = longer;
    }
    char *text = spoiled(after, more);
    int status = load(scene, text);
    free(text);
    free(more);
    return status;
}

static void no_more_than_a_tuned_ini_holds(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(load_more(scene, "finish = two_pass | atomic\n", TUNED_PARAMETERS - 3), 0);
    assert_int_equal(scene->template.parameter_count, TUNED_PARAMETERS);
    assert_int_equal(load_more(scene, "finish = two_pass | atomic\n", TUNED_PARAMETERS - 2),
                     ERROR_CONFIG);
    assert_string_equal(scene->error.message,
                        "the template has more than 64 parameters, the most a tuned INI can hold");
    assert_int_equal(scene->error.line, 5 + TUNED_PARAMETERS - 2);
    assert_int_equal(load_more(scene, "n = 1024\n", TUNED_PROBLEM_VALUES - 2), 0);
    assert_int_equal(load_more(scene, "n = 1024\n", TUNED_PROBLEM_VALUES - 1), ERROR_CONFIG);
    assert_string_equal(
        scene->error.message,
        "the template has more than 16 problem values, the most a tuned INI can hold");
}

static void the_locale_changes_no_default(void **state)
{
    struct scene *scene = *state;
    if (!comma_locale_enter())
        skip();
    load_well(scene, right);
    comma_locale_leave();
    const struct parameter *factor = template_parameter(&scene->template, "factor");
    assert_non_null(factor);
    assert_true(value_equal(factor->fallback, value_real(1.5)));
}

static void defaults_that_are_refused(void **state)
{
    static const struct fault faults[] = {
        {"block_size = 256\n", "block_size =\n", 2, "'block_size' has no default"},
        {"block_size = 256\n", "block_size = 128 | 256\n", 2,
         "'128' is not a word: '|' separates the words a parameter may have; give numbers one "
         "default, the sweep lists the others"},
        {"finish = two_pass | atomic\n", "finish = two_pass | 3\n", 3,
         "'3' is not a word: '|' separates the words a parameter may have; give numbers one "
         "default, the sweep lists the others"},
        {"finish = two_pass | atomic\n", "finish = two_pass |\n", 3,
         "'' is neither a number nor a lower-case word; write 256, 2^20, 0.5 or last_block"},
        {"block_size = 256\n", "block_size = 2^63\n", 2, "'2^63' does not fit in 64 bits"},
        {"block_size = 256\n", "block_size = 64, 128\n", 2,
         "'64, 128' is neither a number nor a lower-case word; write 256, 2^20, 0.5 or last_block"},
    };
    ASSERT_FAULTS(state, faults);
}

static void types_that_are_refused(void **state)
{
    static const struct fault faults[] = {
        {"type = double\n", "type = float32\n", 15,
         "unknown element type 'float32'; did you mean 'float'?"},
        {"type = value_type\n", "type = n\n", 10, "'n' holds numbers, not types"},
        {"value_type = float | int32", "value_type = float | integer", 10,
         "word 'integer' of the type's parameter is not an element type"},
        {"type = value_type\n", "type = finish\n", 10,
         "word 'two_pass' of the type's parameter is not an element type"},
        {"compare = relative(1e-5)\n", "compare = exact\nreference_type = real\n", 36,
         "unknown element type 'real'; expected one of: int8, int16, int32, int64, uint8, uint16, "
         "uint32, uint64, half, bfloat16, float, double"},
    };
    ASSERT_FAULTS(state, faults);
}

static void accesses_and_fills_that_are_refused(void **state)
{
    static const struct fault faults[] = {
        {"access = write\n", "access = wirte\n", 21,
         "unknown access 'wirte'; did you mean 'write'?"},
        {"access = write\n", "access = write\nfill = constant(0)\n", 22,
         "buffer 'out' is an output, which is poisoned; use read_write for one that starts with a "
         "fill"},
        {"uniform(-1, 1)", "random(-1, 1)", 13,
         "unknown fill 'random'; expected constant, uniform, normal, integers, counting, "
         "kernel, file or border"},
        {"uniform(-1, 1)", "0", 13, "fill '0' is not of the form constant(0)"},
        {"uniform(-1, 1)", "", 13, "fill '' is not of the form constant(0)"},
        {"uniform(-1, 1)", "constant(0", 13, "fill 'constant(0' is not of the form constant(0)"},
        {"uniform(-1, 1)", "uniform(1)", 13, "wrong number of arguments to fill 'uniform'"},
        {"uniform(-1, 1)", "uniform(1, 2, 3, 4)", 13,
         "wrong number of arguments to fill 'uniform'"},
        {"uniform(-1, 1)", "constant()", 13, "wrong number of arguments to fill 'constant'"},
        {"uniform(-1, 1)", "counting(1)", 13, "wrong number of arguments to fill 'counting'"},
        {"uniform(-1, 1)", "uniform(-1, m)", 13, "unknown name 'm'; expected one of: block_size, "},
        {"reference = sum_reference\n", "reference = uniform(0, 1)\n", 33,
         "reference 'uniform(0, 1)' is invalid; expected an entry, constant(x) or file(x.npy)"},
        {"relative(1e-5)", "equal", 35,
         "compare 'equal' is unknown; expected exact, absolute(e), relative(e), close(absolute, "
         "relative) or unordered"},
        {"relative(1e-5)", "relative", 35,
         "compare 'relative' is unknown; expected exact, absolute(e), relative(e), close(absolute, "
         "relative) or unordered"},
        {"relative(1e-5)", "close(1e-5)", 35,
         "compare 'close(1e-5)' is unknown; expected exact, absolute(e), relative(e), "
         "close(absolute, relative) or unordered"},
    };
    struct scene *scene = *state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char *text = spoiled(faults[i].from, faults[i].to);
        assert_int_equal(load(scene, text), ERROR_CONFIG);
        assert_int_equal(scene->error.line, faults[i].line);
        scene->error.message[strlen(faults[i].message)] = '\0';
        assert_string_equal(scene->error.message, faults[i].message);
        free(text);
    }
}

/* A name that an expression uses where README's table does not have it. */
static void names_in_the_wrong_place(void **state)
{
    struct scene *scene = *state;
    static const struct {
        const char *from, *to;
        int line;
        const char *name;
    } cases[] = {
        /* inputs, outputs and references know no launches */
        {"length = n\n", "length = partial_grid\n", 11, "partial_grid"},
        {"compare = relative(1e-5)\n", "compare = exact\ngrid = registers\n", 36, "registers"},
        /* kernel statistics are known to launches and constraints alone */
        {"length = partial_grid\n", "length = registers\n", 16, "registers"},
        {"bytes = 4 * n\n", "bytes = registers\n", 37, "registers"},
        {"relative(1e-5)", "relative(partial_grid)", 35, "partial_grid"},
        {"entry = k\n", "entry = k\nwhen = registers < 3\n", 24, "registers"},
        {"entry = k\n", "entry = k\ncooperative = blocks_per_sm > 1\n", 24, "blocks_per_sm"},
        {"block = block_size\n", "block = occupancy\n", 25, "occupancy"},
        {"block = block_size\n", "block = shared_bytes\n", 25, "shared_bytes"},
        {"[parameters]\n", "[kernel]\nconstraint = static_shared_bytes < 3\n[parameters]\n", 2,
         "static_shared_bytes"},
        {"[parameters]\n", "[kernel]\nconstraint = partial_grid < 3\n[parameters]\n", 2,
         "partial_grid"},
        /* a launch knows those before it */
        {"grid = ceil_div(n, block_size)\n", "grid = finish_grid\n", 24, "finish_grid"},
        {"grid = ceil_div(n, block_size)\n", "grid = partial_grid\n", 24, "partial_grid"},
        /* loops have their variable to themselves */
        {"block = 32\n", "block = stride\n", 30, "stride"},
        {"grid = ceil_div(n, block_size)\n", "grid = iteration + 1\n", 24, "iteration"},
        {"entry = k\n", "entry = k\nloop = stride\nfrom = stride\nwhile = stride < 1\nnext = 2\n",
         25, "stride"},
        /* buffers are arguments and nothing else */
        {"grid = ceil_div(n, block_size)\n", "grid = in\n", 24, "in"},
        {"bytes = 4 * n\n", "bytes = out\n", 37, "out"},
        {"arguments = in, partials, uint64 n\n", "arguments = input, partials\n", 26, "input"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = spoiled(cases[i].from, cases[i].to);
        char *message = alloc_format("unknown name '%s'; ", cases[i].name);
        if (load(scene, text) != ERROR_CONFIG)
            fail_msg("'%s' is accepted", cases[i].to);
        assert_int_equal(scene->error.line, cases[i].line);
        scene->error.message[strlen(message)] = '\0';
        assert_string_equal(scene->error.message, message);
        free(message);
        free(text);
    }
}

static void names_in_the_right_place(void **state)
{
    struct scene *scene = *state;
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"length = n\n", "length = n * sm_count\n"},
        {"length = n\n", "length = n * block_size\n"},
        {"length = 1\n", "length = factor\n"},
        {"uniform(-1, 1)", "constant(block_size)"},
        {"in, reference, uint64 n", "in, reference, uint64 block_size"},
        {"compare = relative(1e-5)\n", "compare = absolute(factor)\nblock = block_size\n"},
        {"length = partial_grid\n", "length = finish_grid * partial_block * block_size\n"},
        {"bytes = 4 * n\n", "bytes = finish_grid * partial_block * block_size * factor\n"},
        {"grid = ceil_div(n, block_size)\n",
         "grid = registers + spill_bytes + static_shared_bytes + blocks_per_sm + block_threads\n"},
        {"block = 32\n", "block = partial_grid * partial_block\n"},
        {"entry = f\n", "entry = f\nwhen = finish == \"atomic\" and n > sm_count\n"},
        {"[parameters]\n",
         "[kernel]\nconstraint = registers + spill_bytes + shared_bytes + blocks_per_sm * "
         "occupancy < 3\nconstraint = compute_capability >= 90 and n > factor\n[parameters]\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = spoiled(cases[i].from, cases[i].to);
        load_well(scene, text);
        free(text);
    }
}

/* The value of an expression for n = 1000 and blocks of 256 threads. */
static int64_t value_for_a_thousand(const struct expression *expression)
{
    struct bindings bindings = {0};
    struct error error;
    int64_t value = -1;
    bindings_set(&bindings, "n", value_integer(1000));
    bindings_set(&bindings, "block_size", value_integer(256));
    bindings_set(&bindings, "sm_count", value_integer(132));
    bindings_set(&bindings, "blocks_per_sm", value_integer(2));
    const struct scope scope = {.bindings = &bindings};
    if (expression_integer(expression, &scope, &value, &error) != 0)
        fail_msg("%s", error.message);
    bindings_release(&bindings);
    return value;
}

static void figures_stand_for_their_expressions(void **state)
{
    struct scene *scene = *state;
    char *text =
        spoiled("grid = ceil_div(n, block_size)\n", "grid = 2 * tiles, rest, min(slots, 1)\n"
                                                    "block = 1\n"
                                                    "[figures]\n"
                                                    "tiles = n // block_size + 1\n"
                                                    "rest = 10 - tiles\n"
                                                    "slots = sm_count * blocks_per_sm\n"
                                                    "[launch.last]\n"
                                                    "entry = k\n"
                                                    "grid = finish == 'tiles' ? 1 : tiles\n");
    load_well(scene, text);
    const struct launch *launch = &scene->template.launches[0];
    assert_int_equal(value_for_a_thousand(launch->grid[0]), 8); /* not 2 * 3 + 1 */
    assert_int_equal(value_for_a_thousand(launch->grid[1]), 6); /* not 10 - 3 + 1 */
    assert_int_equal(value_for_a_thousand(launch->grid[2]), 1);
    assert_text(launch->grid[0], "2 * tiles"); /* as messages show it */
    assert_true(expression_uses(launch->grid[0], "block_size"));
    assert_true(expression_uses(scene->template.launches[1].grid[0], "n"));
    assert_int_equal(scene->template.figure_count, 3);
    free(text);
}

static void figures_that_are_refused(void **state)
{
    static const struct fault faults[] = {
        {"[problem]\n", "[figures]\nlater = block_sizes\nblock_sizes = n\n[problem]\n", 7,
         "unknown name 'block_sizes'; did you mean 'block_size'?"},
        {"[problem]\n", "[figures]\nfactors = factors + 1\n[problem]\n", 7,
         "unknown name 'factors'; did you mean 'factor'?"},
        {"[problem]\n", "[figures]\ntiles = n +\n[problem]\n", 7,
         "cannot parse expression 'n +': expected a value at the end"},
        {"[problem]\n", "[figures]\nn = 1\n[problem]\n", 7, "name 'n' is given twice"},
        {"[problem]\n", "[figures]\nin = 1\n[problem]\n", 7, "name 'in' is given twice"},
        {"[problem]\n", "[figures]\npartial_grid = 1\n[problem]\n", 7,
         "name 'partial_grid' is given twice"},
        {"[problem]\n", "[figures]\nregisters = 1\n[problem]\n", 7,
         "name 'registers' has another meaning in expressions; choose another name"},
        {"length = n\naccess = read\nfill = uniform(-1, 1)\n",
         "length = tile\naccess = read\nfill = constant(1)\n[figures]\ntiles = n\n", 11,
         "unknown name 'tile'; did you mean 'tiles'?"},
        /* a buffer's length is known before anything is compiled */
        {"length = n\naccess = read\nfill = uniform(-1, 1)\n",
         "length = slots\naccess = read\nfill = constant(1)\n[figures]\nslots = blocks_per_sm\n",
         11, "unknown name 'blocks_per_sm'; did you mean 'max_blocks_per_sm'?"},
    };
    ASSERT_FAULTS(state, faults);
}

/* Each figure is twice as long as the one before it. */
static void figures_that_grow_without_bound_are_refused(void **state)
{
    struct scene *scene = *state;
    char *figures = alloc_string("[figures]\nf0 = n + n\n");
    for (int i = 1; i < 64; i++) {
        char *longer = alloc_format("%sf%d = f%d + f%d\n", figures, i, i - 1, i - 1);
        free(figures);
        figures = longer;
    }
    char *text = alloc_format("%s%s", right, figures);
    assert_int_equal(load(scene, text), ERROR_CONFIG);
    assert_string_equal(scene->error.message, "expression is longer than 65536 bytes");
    free(text);
    free(figures);
}

static void launches_that_are_refused(void **state)
{
    static const struct fault faults[] = {
        {"block = block_size\n", "block = 1, 2, 3, 4\n", 25, "'block' takes 1 to 3 expressions"},
        {"block = block_size\n", "block =\n", 25, "'block' takes 1 to 3 expressions"},
        {"block = block_size\n", "block = 1,,2\n", 25, "expression is empty"},
        {"entry = k\n", "entry = k\nmain = maybe\n", 24, "main 'maybe' is neither yes nor no"},
        {"uint64 n\n", "n\n", 26,
         "argument 'n' is not a buffer; give a scalar its type, such as uint64 n"},
        {"uint64 n\n", "uint64 n, reference\n", 26,
         "launch 'partial' has 'reference' among its arguments, which only the reference of an "
         "[expect] section has"},
        {"[expect.out]", "[expect.output]", 32,
         "unknown buffer 'output'; expected one of: in, partials, out"},
        {"[expect.out]", "[expect.our]", 32, "unknown buffer 'our'; did you mean 'out'?"},
        {"grid = 1\n", "grid = n <> 3\n", 29,
         "cannot parse expression 'n <> 3': '<>' is not an operator here; write 'a != b'"},
        {"[parameters]\n", "[kernel]\ncache = lukewarm\n[parameters]\n", 2,
         "cache 'lukewarm' is neither cold nor warm"},
    };
    ASSERT_FAULTS(state, faults);
}

static void files_that_are_missing(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(unlink(scene->source), 0);
    assert_int_equal(load(scene, right), ERROR_CONFIG);
    assert_non_null(strstr(scene->error.message, "sum.cu"));
    struct error error;
    assert_int_equal(template_load(&scene->template, "/nonexistent/t.ini", &error), ERROR_CONFIG);
    assert_string_equal(error.file, "/nonexistent/t.ini");
}

/* --- helpers of other modules --- */

static void values_that_a_parameter_may_have(void **state)
{
    struct scene *scene = *state;
    struct error error;
    load_well(scene, right);
    const struct parameter *number = template_parameter(&scene->template, "block_size");
    const struct parameter *word = template_parameter(&scene->template, "finish");
    assert_int_equal(parameter_check(number, value_integer(7), "s.ini", 9, &error), 0);
    assert_int_equal(parameter_check(number, value_real(0.5), "s.ini", 9, &error), 0);
    assert_int_equal(parameter_check(word, value_word("atomic"), "s.ini", 9, &error), 0);
    assert_int_equal(parameter_check(number, value_word("many"), "s.ini", 9, &error), ERROR_CONFIG);
    assert_string_equal(error.message, "'block_size' takes numbers, not 'many'");
    assert_string_equal(error.file, "s.ini");
    assert_int_equal(error.line, 9);
    assert_int_equal(parameter_check(word, value_word("atomics"), "s.ini", 9, &error),
                     ERROR_CONFIG);
    assert_string_equal(error.message, "unknown value of finish 'atomics'; did you mean 'atomic'?");
    assert_int_equal(parameter_check(word, value_integer(1), "s.ini", 9, &error), ERROR_CONFIG);
    assert_string_equal(error.message,
                        "unknown value of finish '1'; expected one of: two_pass, atomic");
}

static void constraints_that_wait_for_the_compiler(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool late;
    } cases[] = {{"registers < 64", true},
                 {"n > 1 and occupancy > 0.5", true},
                 {"block_size < max_threads_per_sm", false},
                 {"1 == 1", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct expression *expression;
        struct error error;
        assert_int_equal(expression_new(&expression, cases[i].text, "s.ini", 1, &error), 0);
        assert_int_equal(constraint_needs_stats(expression), cases[i].late);
        expression_free(expression);
    }
}

static void types_by_name_and_by_word(void **state)
{
    (void)state;
    struct bindings inner = {0};
    struct bindings outer = {0};
    bindings_set(&inner, "n", value_integer(3));
    bindings_set(&outer, "value_type", value_word("bfloat16"));
    struct scope outside = {&outer, NULL};
    struct scope scope = {&inner, &outside};
    enum element_type type;
    struct error error;
    assert_int_equal(template_element_type("uint16", NULL, &type, &error), 0);
    assert_int_equal(type, ELEMENT_UINT16);
    assert_int_equal(template_element_type("value_type", &scope, &type, &error), 0);
    assert_int_equal(type, ELEMENT_BFLOAT16);
    assert_int_equal(template_element_type("n", &scope, &type, &error), ERROR_CONFIG);
    assert_string_equal(error.message, "'n' is not an element type");
    assert_int_equal(template_element_type("other", &scope, &type, &error), ERROR_CONFIG);
    bindings_release(&inner);
    bindings_release(&outer);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_scene, remove_scene)
    const struct CMUnitTest tests[] = {
        TEST(the_example_of_the_readme_loads),
        TEST(parameters_in_the_order_of_the_file),
        TEST(what_may_be_left_out),
        TEST(options_are_separated_by_blanks),
        TEST(fills_of_every_kind),
        TEST(scratch_may_have_a_fill_and_a_tunable_type),
        TEST(comparisons_of_every_kind),
        TEST(expectations_of_every_kind),
        TEST(buffers_may_take_turns),
        TEST(the_hash_is_of_content),
        TEST(the_hash_is_of_the_generator_of_fills),
        TEST(comments_descriptions_and_layout_keep_the_hash),
        TEST(precompiled_headers),
        TEST(headers_that_cannot_be_precompiled),
        TEST(unknown_sections_and_keys),
        TEST(missing_keys),
        TEST(outputs_are_checked_or_unchecked_on_purpose),
        TEST(scratch_is_not_for_helpers),
        TEST(missing_sections),
        TEST(names_that_are_refused),
        TEST(one_letter_will_do_where_nothing_is_defined),
        TEST(no_more_than_a_tuned_ini_holds),
        TEST(the_locale_changes_no_default),
        TEST(defaults_that_are_refused),
        TEST(types_that_are_refused),
        TEST(accesses_and_fills_that_are_refused),
        TEST(names_in_the_wrong_place),
        TEST(figures_stand_for_their_expressions),
        TEST(figures_that_are_refused),
        TEST(figures_that_grow_without_bound_are_refused),
        TEST(names_in_the_right_place),
        TEST(launches_that_are_refused),
        TEST(files_that_are_missing),
        TEST(values_that_a_parameter_may_have),
        TEST(constraints_that_wait_for_the_compiler),
        TEST(types_by_name_and_by_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
