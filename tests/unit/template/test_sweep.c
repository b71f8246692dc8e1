#include "template/sweep.h"

#include "base/alloc.h"
#include "unit/comma_locale.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A folder with configs/s.ini and, in kernel_templates/, the templates sum and scan. */
struct scene {
    char folder[64];
    char configs[96], templates[96];
    char path[128];
    struct sweep sweep;
    struct error error;
};

static const char *const template_files[] = {"sum.ini", "sum.cu",  "scan.ini",
                                             "scan.cu", "mat.ini", "mat.cu"};

static const char sum[] = "[kernel]\nconstraint = block_size % 32 == 0\ncache = warm\n"
                          "[parameters]\nblock_size = 256\nfinish = two_pass | atomic\n"
                          "[launch_parameters]\nfactor = 1\n"
                          "[problem]\nn = 2^20\nvalue_type = float | int32\n"
                          "[buffer.out]\ntype = value_type\nlength = n\naccess = write\n"
                          "[launch.run]\nentry = k\ngrid = 1\nblock = block_size\n"
                          "[expect.out]\nreference = constant(0)\ncompare = exact\n";

static const char scan[] = "[parameters]\nblock_size = 128\n"
                           "[buffer.out]\ntype = float\nlength = 1\naccess = write\n"
                           "[launch.run]\nentry = k\ngrid = 1\nblock = block_size\n"
                           "[expect.out]\nreference = constant(0)\ncompare = exact\n";

/* k is a macro. */
static const char mat[] = "[kernel]\nsource = scan.cu\ndefine = k_size = k\n"
                          "[problem]\nm = 1\nn = 1\ntype = float | int32\nk = 1\n"
                          "[buffer.out]\ntype = float\nlength = 1\naccess = write\n"
                          "[launch.run]\nentry = k\ngrid = 1\nblock = 32\n"
                          "[expect.out]\nreference = constant(0)\ncompare = exact\n";

static void write_file(const char *folder, const char *name, const char *text)
{
    char *path = alloc_format("%s/%s", folder, name);
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
    free(path);
}

static int make_scene(void **state)
{
    struct scene *scene = alloc_zeroed(1, sizeof *scene);
    *state = scene;
    (void)snprintf(scene->folder, sizeof scene->folder, "/tmp/test_sweep.XXXXXX");
    if (mkdtemp(scene->folder) == NULL)
        return -1;
    (void)snprintf(scene->configs, sizeof scene->configs, "%s/configs", scene->folder);
    (void)snprintf(scene->templates, sizeof scene->templates, "%s/kernel_templates", scene->folder);
    (void)snprintf(scene->path, sizeof scene->path, "%s/s.ini", scene->configs);
    if (mkdir(scene->configs, 0700) != 0 || mkdir(scene->templates, 0700) != 0)
        return -1;
    write_file(scene->templates, "sum.ini", sum);
    write_file(scene->templates, "sum.cu", "int used = BLOCK_SIZE + FINISH;\n");
    write_file(scene->templates, "scan.ini", scan);
    write_file(scene->templates, "scan.cu", "int used = BLOCK_SIZE + FINISH + TYPE + k_size;\n");
    write_file(scene->templates, "mat.ini", mat);
    return 0;
}

static void remove_file(const char *folder, const char *name)
{
    char *path = alloc_format("%s/%s", folder, name);
    (void)unlink(path);
    free(path);
}

static int remove_scene(void **state)
{
    struct scene *scene = *state;
    sweep_release(&scene->sweep);
    for (size_t i = 0; i < sizeof template_files / sizeof *template_files; i++) {
        remove_file(scene->templates, template_files[i]);
        remove_file(scene->configs, template_files[i]);
    }
    remove_file(scene->configs, "s.ini");
    int status =
        rmdir(scene->configs) != 0 || rmdir(scene->templates) != 0 || rmdir(scene->folder) != 0;
    free(scene);
    return status;
}

static int load_only(struct scene *scene, const char *text, const char *const *only, size_t count)
{
    sweep_release(&scene->sweep);
    write_file(scene->configs, "s.ini", text);
    scene->error = (struct error){0};
    return sweep_load(&scene->sweep, scene->path, only, count, &scene->error);
}

static void load_well(struct scene *scene, const char *text)
{
    if (load_only(scene, text, NULL, 0) != 0)
        fail_msg("line %d of %s: %s", scene->error.line, scene->error.file, scene->error.message);
}

static void assert_refused(struct scene *scene, const char *text, int line, const char *message)
{
    if (load_only(scene, text, NULL, 0) != ERROR_CONFIG)
        fail_msg("'%s' is accepted", text);
    assert_string_equal(scene->error.message, message);
    assert_int_equal(scene->error.line, line);
    assert_string_equal(scene->error.file, scene->path);
    assert_null(scene->sweep.kernels);
    assert_null(scene->sweep.path);
}

static void assert_problem(const struct sweep_kernel *kernel, size_t index, const char *expected)
{
    char *text = bindings_text(&kernel->problems[index]);
    assert_string_equal(text, expected);
    free(text);
}

static void what_may_be_left_out(void **state)
{
    struct scene *scene = *state;
    load_well(scene, "[sum]\n");
    const struct sweep *sweep = &scene->sweep;
    assert_string_equal(sweep->path, scene->path);
    assert_string_equal(sweep->tuned, "results/tuned.ini");
    assert_string_equal(sweep->results, "results");
    assert_true(sweep->launch_timeout_s >= 2 && sweep->launch_timeout_s <= 2);
    assert_true(sweep->compile_timeout_s >= 60 && sweep->compile_timeout_s <= 60);
    assert_int_equal(sweep->kernel_count, 1);
    const struct sweep_kernel *kernel = &sweep->kernels[0];
    assert_string_equal(kernel->label, "sum");
    assert_string_equal(kernel->template.name, "sum");
    assert_int_equal(kernel->line, 1);
    assert_false(kernel->cold); /* as the template says */
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(kernel->values[i].count, 1);
    assert_true(value_equal(kernel->values[0].values[0], value_integer(256)));
    assert_true(value_equal(kernel->values[1].values[0], value_word("two_pass")));
    assert_int_equal(kernel->problem_count, 1);
    assert_problem(kernel, 0, "n=1048576 value_type=float");
    assert_int_equal(kernel->constraint_count, 1);
    assert_int_equal(kernel->own_constraint_count, 0);
}

static void settings(void **state)
{
    struct scene *scene = *state;
    load_well(scene, "[sweep]\ntuned = out/t.ini\nresults = out\nlaunch_timeout_s = 0.5\n"
                     "compile_timeout_s = 120\n[sum]\n");
    assert_string_equal(scene->sweep.tuned, "out/t.ini");
    assert_string_equal(scene->sweep.results, "out");
    assert_true(scene->sweep.launch_timeout_s >= 0.5 && scene->sweep.launch_timeout_s <= 0.5);
    assert_true(scene->sweep.compile_timeout_s >= 120 && scene->sweep.compile_timeout_s <= 120);
}

static void lists_of_values(void **state)
{
    struct scene *scene = *state;
    load_well(scene, "[sum]\nblock_size = 64..256 step *2, 1024\nfinish = atomic, two_pass\n"
                     "factor = 0.5, 1\n");
    const struct sweep_kernel *kernel = &scene->sweep.kernels[0];
    assert_int_equal(kernel->values[0].count, 4);
    assert_true(value_equal(kernel->values[0].values[3], value_integer(1024)));
    assert_int_equal(kernel->values[1].count, 2);
    assert_true(value_equal(kernel->values[1].values[0], value_word("atomic")));
    assert_int_equal(kernel->values[2].count, 2);
    assert_true(value_equal(kernel->values[2].values[0], value_real(0.5)));
}

static void tuples_are_problems_or_constraints(void **state)
{
    struct scene *scene = *state;
    load_well(scene, "[sum]\n(value_type, n) = (int32, 7), (float, 9)\n"
                     "(block_size, finish) = (64, atomic), (128, two_pass), (64, two_pass)\n");
    const struct sweep_kernel *kernel = &scene->sweep.kernels[0];
    assert_int_equal(kernel->problem_count, 2);
    assert_problem(kernel, 0, "n=7 value_type=int32");
    assert_problem(kernel, 1, "n=9 value_type=float");
    assert_int_equal(kernel->values[0].count, 2);
    assert_int_equal(kernel->values[1].count, 2);
    assert_int_equal(kernel->own_constraint_count, 1);
    assert_string_equal(expression_text(kernel->own_constraints[0]),
                        "(block_size, finish) is one of 3 tuples");
    static const struct {
        int block_size;
        const char *finish;
        bool holds;
    } cases[] = {{64, "atomic", true},   {128, "two_pass", true}, {64, "two_pass", true},
                 {128, "atomic", false}, {32, "atomic", false},   {64, "none", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bindings bindings = {0};
        const struct scope scope = {&bindings, NULL};
        bool holds = !cases[i].holds;
        bindings_set(&bindings, "block_size", value_integer(cases[i].block_size));
        bindings_set(&bindings, "finish", value_word(cases[i].finish));
        assert_int_equal(expression_boolean(kernel->own_constraints[0], &scope, &holds, NULL), 0);
        assert_int_equal(holds, cases[i].holds);
        bindings_release(&bindings);
    }
}

static void tuples_of_one_problem_and_lists_combine(void **state)
{
    struct scene *scene = *state;
    load_well(scene, "[sum]\n(n, value_type) = (5, float)\n");
    assert_int_equal(scene->sweep.kernels[0].problem_count, 1);
    assert_problem(&scene->sweep.kernels[0], 0, "n=5 value_type=float");
    load_well(scene, "[sum]\n(block_size, finish, factor) = (64, atomic, 0.5), (32, atomic, 2)\n"
                     "n = 1, 2\n");
    assert_int_equal(scene->sweep.kernels[0].problem_count, 2);
    assert_int_equal(scene->sweep.kernels[0].own_constraint_count, 2); /* of two, of three names */
}

static void settings_replace_lists(void **state)
{
    struct scene *scene = *state;
    const char *const values[] = {"n = 3, 4", "(block_size, finish)=(64,atomic)", NULL};
    write_file(scene->configs, "s.ini", "[sum]\nn = 1\nblock_size = 1, 2\n[scan]\n");
    const struct sweep_request request = {.path = scene->path, .settings = values};
    assert_int_equal(sweep_open(&scene->sweep, &request, &scene->error), ERROR_CONFIG);
    assert_string_equal(scene->error.message,
                        "unknown parameter or problem value 'finish'; expected one of: block_size");
    const char *const only[] = {"sum"};
    const struct sweep_request narrow = {
        .path = scene->path, .only = only, .only_count = 1, .settings = values};
    assert_int_equal(sweep_open(&scene->sweep, &narrow, &scene->error), 0);
    assert_problem(&scene->sweep.kernels[0], 1, "n=4 value_type=float");
    assert_int_equal(scene->sweep.kernels[0].values[0].count, 1);
}

static void a_template_alone_is_a_sweep(void **state)
{
    struct scene *scene = *state;
    char *path = alloc_format("%s/sum.ini", scene->templates);
    const struct sweep_request request = {.template = path};
    assert_int_equal(sweep_open(&scene->sweep, &request, &scene->error), 0);
    assert_int_equal(scene->sweep.kernel_count, 1);
    assert_string_equal(scene->sweep.kernels[0].label, "sum");
    assert_string_equal(scene->sweep.tuned, "results/tuned.ini");
    assert_false(scene->sweep.kernels[0].cold);
    assert_problem(&scene->sweep.kernels[0], 0, "n=1048576 value_type=float");
    free(path);
}

static void every_combination_of_problems(void **state)
{
    struct scene *scene = *state;
    load_well(scene, "[sum]\nvalue_type = int32, float\nn = 2^4, 2^8, 2^12\n");
    const struct sweep_kernel *kernel = &scene->sweep.kernels[0];
    assert_int_equal(kernel->problem_count, 6);
    /* in the template's order, the last varying fastest */
    assert_problem(kernel, 0, "n=16 value_type=int32");
    assert_problem(kernel, 1, "n=16 value_type=float");
    assert_problem(kernel, 2, "n=256 value_type=int32");
    assert_problem(kernel, 5, "n=4096 value_type=float");
    load_well(scene, "[scan]\n");
    assert_int_equal(scene->sweep.kernels[0].problem_count, 1);
    assert_problem(&scene->sweep.kernels[0], 0, "");
}

static void at_most_1024_problems(void **state)
{
    struct scene *scene = *state;
    load_well(scene, "[sum]\nn = 1..512\nvalue_type = float, int32\n");
    assert_int_equal(scene->sweep.kernels[0].problem_count, 1024);
    assert_refused(scene, "[sum]\nn = 1..513\nvalue_type = float, int32\n", 1,
                   "'sum' has more than 1024 problems; split the sweep");
}

static void constraints_of_both_files(void **state)
{
    struct scene *scene = *state;
    load_well(scene, "[sum]\nconstraint = block_size < 1024\n"
                     "constraint = registers <= 64 and n > sm_count\n");
    const struct sweep_kernel *kernel = &scene->sweep.kernels[0];
    assert_int_equal(kernel->constraint_count, 3);
    assert_string_equal(expression_text(kernel->constraints[0]), "block_size % 32 == 0");
    assert_string_equal(expression_text(kernel->constraints[1]), "block_size < 1024");
    assert_string_equal(expression_text(kernel->constraints[2]),
                        "registers <= 64 and n > sm_count");
    assert_int_equal(kernel->own_constraint_count, 2);
    assert_refused(scene, "[sum]\nconstraint = blok_size < 1024\n", 2,
                   "unknown name 'blok_size'; did you mean 'block_size'?");
    assert_refused(scene, "[sum]\nblock_size = 64\nconstraint = block_size <\n", 3,
                   "cannot parse expression 'block_size <': expected a value at the end");
}

static void cache_states(void **state)
{
    struct scene *scene = *state;
    load_well(scene, "[sum]\ncache = cold\n[scan]\ncache = warm\n");
    assert_true(scene->sweep.kernels[0].cold);
    assert_false(scene->sweep.kernels[1].cold);
    assert_refused(scene, "[sum]\ncache = hot\n", 2, "cache 'hot' is neither cold nor warm");
}

static void one_template_under_many_labels(void **state)
{
    struct scene *scene = *state;
    load_well(scene, "[small]\ntemplate = sum\nn = 16\n[sum]\n[large]\ntemplate = sum\nn = 2^30\n");
    assert_int_equal(scene->sweep.kernel_count, 3);
    assert_string_equal(scene->sweep.kernels[0].label, "small");
    assert_string_equal(scene->sweep.kernels[0].template.name, "sum");
    assert_problem(&scene->sweep.kernels[0], 0, "n=16 value_type=float");
    assert_string_equal(scene->sweep.kernels[1].label, "sum");
    assert_string_equal(scene->sweep.kernels[2].label, "large");
    assert_problem(&scene->sweep.kernels[2], 0, "n=1073741824 value_type=float");
    assert_refused(scene, "[sum]\n[small sums]\ntemplate = sum\n", 2,
                   "kernel name 'small sums' is not a lower-case name of at most 32 letters");
    assert_refused(scene, "[a/b]\ntemplate = sum\n", 1,
                   "kernel name 'a/b' is not a lower-case name of at most 32 letters");
    assert_refused(scene, "[a23456789012345678901234567890123]\ntemplate = sum\n", 1,
                   "kernel name 'a23456789012345678901234567890123' is not a lower-case name of "
                   "at most 32 letters");
    assert_refused(scene, "[Sum]\ntemplate = sum\n", 1,
                   "kernel name 'Sum' is not a lower-case name of at most 32 letters");
}

static void templates_that_no_tuned_ini_could_name(void **state)
{
    struct scene *scene = *state;
    write_file(scene->templates, "Sum-2.ini", sum);
    write_file(scene->templates, "Sum-2.cu", "int used = BLOCK_SIZE + FINISH;\n");
    assert_refused(
        scene, "[sum]\ntemplate = Sum-2\n", 2,
        "template 'Sum-2' has a name that a tuned INI cannot contain; rename its file to "
        "lower-case letters, digits and underscores");
    remove_file(scene->templates, "Sum-2.ini");
    remove_file(scene->templates, "Sum-2.cu");
}

static void the_locale_changes_nothing(void **state)
{
    struct scene *scene = *state;
    if (!comma_locale_enter())
        skip();
    load_well(scene, "[sweep]\nlaunch_timeout_s = 0.5\n[sum]\nfactor = 0.25, 1e-3\n");
    comma_locale_leave();
    const struct sweep_kernel *kernel = &scene->sweep.kernels[0];
    assert_true(scene->sweep.launch_timeout_s * 2 == 1);
    for (size_t i = 0; i < kernel->template.parameter_count; i++) {
        if (strcmp(kernel->template.parameters[i].name, "factor") != 0)
            continue;
        assert_int_equal(kernel->values[i].count, 2);
        assert_true(value_equal(kernel->values[i].values[0], value_real(0.25)));
        assert_true(value_equal(kernel->values[i].values[1], value_real(0.001)));
        return;
    }
    fail_msg("the template has no parameter 'factor'");
}

static void some_kernels_only(void **state)
{
    struct scene *scene = *state;
    static const char text[] = "[sum]\n[scan]\n[other]\ntemplate = scan\nblock_size = 32\n";
    assert_int_equal(load_only(scene, text, (const char *const[]){"other", "sum"}, 2), 0);
    assert_int_equal(scene->sweep.kernel_count, 2);
    assert_string_equal(scene->sweep.kernels[0].label, "sum"); /* in the file's order */
    assert_string_equal(scene->sweep.kernels[1].label, "other");
    assert_int_equal(load_only(scene, text, (const char *const[]){"sum", "sum"}, 2), 0);
    assert_int_equal(scene->sweep.kernel_count, 1);
    assert_int_equal(load_only(scene, text, (const char *const[]){"sum", "scam"}, 2), ERROR_USAGE);
    assert_int_equal(scene->error.code, ERROR_USAGE);
    assert_string_equal(scene->error.message, "unknown kernel 'scam'; did you mean 'scan'?");
    assert_string_equal(scene->error.file, scene->path);
    assert_int_equal(load_only(scene, text, (const char *const[]){"sweep"}, 1), ERROR_USAGE);
    assert_string_equal(scene->error.message,
                        "unknown kernel 'sweep'; expected one of: sum, scan, other");
    assert_int_equal(sweep_load(&scene->sweep, scene->path, (const char *const[]){"x"}, 1, NULL),
                     ERROR_USAGE);
}

/* What is not asked for is not loaded, and so may be wrong. */
static void the_others_may_be_wrong(void **state)
{
    struct scene *scene = *state;
    static const char text[] = "[missing]\n[sum]\n";
    assert_int_equal(load_only(scene, text, (const char *const[]){"sum"}, 1), 0);
    assert_int_equal(load_only(scene, text, NULL, 0), ERROR_CONFIG);
}

static void unknown_keys(void **state)
{
    struct scene *scene = *state;
    assert_refused(scene, "[sweep]\ntunde = x\n[sum]\n", 2,
                   "unknown key 'tunde'; did you mean 'tuned'?");
    assert_refused(
        scene, "[sweep]\njobs = 3\n[sum]\n", 2,
        "unknown key 'jobs'; expected one of: tuned, results, templates, launch_timeout_s, "
        "compile_timeout_s, budget, evaluations, device");
    assert_refused(scene, "[sum]\nblok_size = 3\n", 2,
                   "unknown key 'blok_size'; did you mean 'block_size'?");
    assert_refused(scene, "[sum]\nzzz = 3\n", 2,
                   "unknown key 'zzz'; expected one of: block_size, finish, factor, n, value_type, "
                   "template, description, constraint, cache, budget, evaluations, "
                   "cover, cover_configurations");
    assert_refused(scene, "n = 3\n[sum]\n", 1, "key 'n' is before the first section");
}

static void values_that_a_parameter_has_not(void **state)
{
    struct scene *scene = *state;
    assert_refused(scene, "[sum]\nfinish = atomic, last_block\n", 2,
                   "unknown value of finish 'last_block'; expected one of: two_pass, atomic");
    assert_refused(scene, "[sum]\nfinish = two_pas\n", 2,
                   "unknown value of finish 'two_pas'; did you mean 'two_pass'?");
    assert_refused(scene, "[sum]\nfinish = 1\n", 2,
                   "unknown value of finish '1'; expected one of: two_pass, atomic");
    assert_refused(scene, "[sum]\nblock_size = 64, many\n", 2,
                   "'block_size' takes numbers, not 'many'");
    assert_refused(scene, "[sum]\nn = large\n", 2, "'n' takes numbers, not 'large'");
    assert_refused(scene, "[sum]\nvalue_type = float, real\n", 2,
                   "unknown value of value_type 'real'; expected one of: float, int32");
    assert_refused(scene, "[sum]\nblock_size = 64,,128\n", 2,
                   "a value is missing between two commas of the list");
    assert_refused(scene, "[sum]\nblock_size =\n", 2, "the list of values is empty");
    assert_refused(scene, "[sum]\nblock_size = 64, 64\n", 2,
                   "'64' in a list: the value is given twice; remove one");
    assert_refused(scene, "[sum]\nn = 64, 64.0\n", 2, /* one problem, one entry in the tuned INI */
                   "'64.0' in a list: the value is given twice; remove one");
    assert_refused(scene, "[sum]\n(n, value_type) = (64, float), (64.0, float)\n", 2,
                   "'(64.0, float)' is given twice; remove one");
}

static void timeouts_that_are_refused(void **state)
{
    struct scene *scene = *state;
    static const char *const texts[] = {"0", "-1", "0.0001", "86401", "soon", "2 s"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *text = alloc_format("[sweep]\nlaunch_timeout_s = %s\n[sum]\n", texts[i]);
        char *message = alloc_format(
            "launch_timeout_s '%s' is not a number of seconds from 0.001 to 86400", texts[i]);
        assert_refused(scene, text, 2, message);
        free(text);
        free(message);
    }
}

static void limits_are_the_run_s_and_a_kernel_s(void **state)
{
    struct scene *scene = *state;
    write_file(scene->configs, "s.ini",
               "[sweep]\nbudget = 10m\nevaluations = 200\n[sum]\nevaluations = 2^6\n[scan]\n"
               "budget = 1.5h\n");
    assert_int_equal(sweep_load(&scene->sweep, scene->path, NULL, 0, &scene->error), 0);
    assert_true(scene->sweep.limits.budget_s == 600);
    assert_int_equal(scene->sweep.limits.evaluations, 200);
    assert_true(scene->sweep.kernels[0].limits.budget_s == 0);
    assert_int_equal(scene->sweep.kernels[0].limits.evaluations, 64);
    assert_true(scene->sweep.kernels[1].limits.budget_s == 5400);
    assert_int_equal(scene->sweep.kernels[1].limits.evaluations, 0);
    sweep_release(&scene->sweep);
}

static void limits_that_are_refused(void **state)
{
    struct scene *scene = *state;
    assert_refused(scene, "[sweep]\nbudget = soon\n[sum]\n", 2,
                   "budget 'soon' is not a duration; write it as 90s, 10m or 2h");
    assert_refused(scene, "[sum]\nbudget = 0s\n", 2,
                   "budget '0s' is not a duration; write it as 90s, 10m or 2h");
    assert_refused(scene, "[sum]\nevaluations = 0\n", 2,
                   "evaluations '0' is not a whole number of at least 1");
    assert_refused(scene, "[sum]\nevaluations = 1.5\n", 2,
                   "evaluations '1.5' is not a whole number of at least 1");
}

static void nothing_to_tune(void **state)
{
    struct scene *scene = *state;
    static const char message[] = "the sweep has no kernel; add a section such as [reduce_sum]";
    assert_refused(scene, "", 0, message);
    assert_refused(scene, "[sweep]\ntuned = x\n", 0, message);
}

static void templates_are_found(void **state)
{
    struct scene *scene = *state;
    char *expected = alloc_format("%s/../kernel_templates/sum.ini", scene->configs);
    load_well(scene, "[sum]\n");
    assert_string_equal(scene->sweep.kernels[0].template.path, expected);
    free(expected);
    /* the project's templates come before those beside the sweep */
    write_file(scene->configs, "scan.ini", scan);
    write_file(scene->configs, "scan.cu", "int used = BLOCK_SIZE + FINISH;\n");
    expected = alloc_format("%s/../kernel_templates/scan.ini", scene->configs);
    load_well(scene, "[scan]\n");
    assert_string_equal(scene->sweep.kernels[0].template.path, expected);
    free(expected);
    remove_file(scene->templates, "scan.ini");
    expected = alloc_format("%s/./scan.ini", scene->configs);
    load_well(scene, "[scan]\n");
    assert_string_equal(scene->sweep.kernels[0].template.path, expected);
    free(expected);
    write_file(scene->templates, "scan.ini", scan);
    /* a folder that is named is the only one */
    expected = alloc_format("%s/scan.ini", scene->templates);
    char *text = alloc_format("[sweep]\ntemplates = %s\n[scan]\n", scene->templates);
    load_well(scene, text);
    assert_string_equal(scene->sweep.kernels[0].template.path, expected);
    free(expected);
    free(text);
    assert_refused(scene, "[sweep]\ntemplates = ../configs\n[sum]\n", 3,
                   "no template 'sum.ini' in '../configs'; name its folder with "
                   "'templates' in [sweep]");
}

static void a_sweep_is_not_taken_for_a_template(void **state)
{
    struct scene *scene = *state;
    write_file(scene->configs, "scan.ini", "[sweep]\ntuned = x\n[scan]\nn = 4\n");
    char *expected = alloc_format("%s/../kernel_templates/scan.ini", scene->configs);
    load_well(scene, "[scan]\n");
    assert_string_equal(scene->sweep.kernels[0].template.path, expected);
    free(expected);
    expected = alloc_format("no template 'scan'; '%s/./scan.ini' is not one, since it has no "
                            "[launch.NAME] section",
                            scene->configs);
    assert_refused(scene, "[sweep]\ntemplates = .\n[scan]\n", 3, expected);
    remove_file(scene->templates, "scan.ini");
    assert_refused(scene, "[scan]\n", 1, expected);
    free(expected);
}

static void templates_that_are_not_found(void **state)
{
    struct scene *scene = *state;
    assert_refused(scene, "[sun]\n", 1, "no template 'sun'; did you mean 'sum'?");
    assert_refused(scene, "[sum]\n[other]\nblock_size = 1\ntemplate = scna\n", 4,
                   "no template 'scna'; did you mean 'scan'?");
    assert_refused(
        scene, "[sum]\n[other]\n", 2,
        "no template 'other.ini' in '../kernel_templates' or the usual folders; name its folder "
        "with 'templates' in [sweep]");
}

static void faults_of_a_template_are_its_own(void **state)
{
    struct scene *scene = *state;
    char *path = alloc_format("%s/../kernel_templates/sum.ini", scene->configs);
    write_file(scene->templates, "sum.ini", "[parameters]\nBlock = 1\n");
    assert_int_equal(load_only(scene, "[scan]\n[sum]\n", NULL, 0), ERROR_CONFIG);
    assert_string_equal(scene->error.file, path);
    assert_int_equal(scene->error.line, 2);
    assert_null(scene->sweep.kernels);
    free(path);
}

static void files_that_are_missing(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(sweep_load(&scene->sweep, "/nonexistent/s.ini", NULL, 0, &scene->error),
                     ERROR_CONFIG);
    assert_string_equal(scene->error.file, "/nonexistent/s.ini");
    assert_string_equal(scene->error.message, "cannot open the file: No such file or directory");
}

/* --- covers --- */

static const struct sweep_cover *load_cover(struct scene *scene, const char *lines)
{
    char *text = alloc_format("[mat]\n%s", lines);
    load_well(scene, text);
    free(text);
    return &scene->sweep.kernels[0].cover;
}

static void ranges_of_one_value_and_of_several(void **state)
{
    struct scene *scene = *state;
    const struct sweep_cover *cover = load_cover(scene, "cover = n = 2^10 .. 2^30\n");
    assert_int_equal(cover->axis_count, 1);
    assert_string_equal(cover->axes[0].name, "n");
    assert_true(cover->axes[0].low == 1024 && cover->axes[0].high == 1 << 30);
    assert_int_equal(cover->configurations, 4);
    assert_int_equal(cover->line, 2);
    cover = load_cover(scene, "cover = n, m = 16..8192\ncover_configurations = 6\n");
    assert_int_equal(cover->axis_count, 2);
    assert_true(cover->axes[0].low == 16 && cover->axes[1].high == 8192);
    assert_int_equal(cover->configurations, 6);
    cover = load_cover(scene, "cover = m = 1 .. 8, n = 2 .. 4\n");
    assert_true(cover->axes[0].high == 8 && cover->axes[1].low == 2);
    assert_int_equal(load_cover(scene, "")->axis_count, 0);
}

static void what_is_not_a_range_is_refused_at_its_line(void **state)
{
    struct scene *scene = *state;
    static const struct {
        const char *lines, *message;
    } cases[] = {
        {"cover = n\n", "write it as n = 2^10 .. 2^30"},
        {"cover = n = 5\n", "is not a range"},
        {"cover = n = 0 .. 5\n", "whole numbers from 1"},
        {"cover = n = 1.5 .. 5\n", "is not a range"},
        {"cover = n = 8 .. 5\n", "ends below its start"},
        {"cover = n = 1 .. 5, m\n", "has no range"},
        {"cover = n, n = 1 .. 5\n", "is given twice"},
        {"cover = size = 1 .. 5\n", "unknown problem value 'size'"},
        {"cover = type = 1 .. 5\n", "is not a whole number"},
        {"cover =\n", "has no range"},
        {"cover = k = 1 .. 8\n", "cover 'k' cannot have a range: the kernel is compiled for each"},
        {"cover_configurations = 17\n", "from 1 to 16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = alloc_format("[mat]\n%s", cases[i].lines);
        assert_int_equal(load_only(scene, text, NULL, 0), ERROR_CONFIG);
        if (strstr(scene->error.message, cases[i].message) == NULL || scene->error.line != 2)
            fail_msg("'%s': %s", cases[i].lines, scene->error.message);
        free(text);
    }
}

/* --- GPUs --- */

static void numbers_and_all_are_read(void **state)
{
    (void)state;
    struct device_list list;
    assert_true(device_list_parse("0", &list));
    assert_true(device_list_is_stated(&list));
    assert_int_equal(list.count, 1);
    assert_true(device_list_parse("0,2, 13", &list));
    assert_int_equal(list.count, 3);
    assert_int_equal(list.ordinals[0], 0);
    assert_int_equal(list.ordinals[1], 2);
    assert_int_equal(list.ordinals[2], 13);
    assert_false(list.all);
    assert_true(device_list_parse("all", &list));
    assert_true(list.all);
    assert_true(device_list_is_stated(&list));
}

static void anything_else_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",    "-1",  "0,",    ",0",  "0 1", "0,0",
                                        "All", "0-3", "all,0", "1.5", "+1",  "10000",
                                        "x",   " ",   "0,,1",  "0;1", "0x1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct device_list list;
        assert_false(device_list_parse(wrong[i], &list));
        assert_false(device_list_is_stated(&list));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_scene, remove_scene)
    const struct CMUnitTest tests[] = {
        TEST(what_may_be_left_out),
        TEST(settings),
        TEST(lists_of_values),
        TEST(tuples_are_problems_or_constraints),
        TEST(tuples_of_one_problem_and_lists_combine),
        TEST(settings_replace_lists),
        TEST(a_template_alone_is_a_sweep),
        TEST(every_combination_of_problems),
        TEST(at_most_1024_problems),
        TEST(constraints_of_both_files),
        TEST(cache_states),
        TEST(one_template_under_many_labels),
        TEST(templates_that_no_tuned_ini_could_name),
        TEST(the_locale_changes_nothing),
        TEST(some_kernels_only),
        TEST(the_others_may_be_wrong),
        TEST(unknown_keys),
        TEST(values_that_a_parameter_has_not),
        TEST(timeouts_that_are_refused),
        TEST(limits_are_the_run_s_and_a_kernel_s),
        TEST(limits_that_are_refused),
        TEST(nothing_to_tune),
        TEST(templates_are_found),
        TEST(a_sweep_is_not_taken_for_a_template),
        TEST(templates_that_are_not_found),
        TEST(faults_of_a_template_are_its_own),
        TEST(files_that_are_missing),
        TEST(ranges_of_one_value_and_of_several),
        TEST(what_is_not_a_range_is_refused_at_its_line),
        cmocka_unit_test(numbers_and_all_are_read),
        cmocka_unit_test(anything_else_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
