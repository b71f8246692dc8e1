#include "template/sweep.h"

#include "base/alloc.h"

#include "unit/cases.h"
#include "unit/comma_locale.h"
#include "unit/scratch.h"

#include <sys/stat.h>

static struct sweep sweep;
static struct error error;

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

#define SOURCE "int used = BLOCK_SIZE + FINISH + TYPE + k_size;\n"

/* The current folder has the sweep configs/s.ini and, in kernel_templates/, three templates. */
static int enter(void **state)
{
    if (scratch_enter(state) != 0)
        return -1;
    return mkdir("configs", 0700) + mkdir("kernel_templates", 0700) +
           scratch_write("kernel_templates/sum.ini", sum) +
           scratch_write("kernel_templates/sum.cu", SOURCE) +
           scratch_write("kernel_templates/Sum-2.ini", sum) +
           scratch_write("kernel_templates/Sum-2.cu", SOURCE) +
           scratch_write("kernel_templates/scan.ini", scan) +
           scratch_write("kernel_templates/scan.cu", SOURCE) +
           scratch_write("kernel_templates/mat.ini", mat);
}

static int leave(void **state)
{
    sweep_release(&sweep);
    return scratch_leave(state);
}

static int load_only(const char *text, const char *const *only, size_t count)
{
    sweep_release(&sweep);
    assert_int_equal(scratch_write("configs/s.ini", text), 0);
    error = (struct error){0};
    const struct sweep_request request = {
        .path = "configs/s.ini", .only = only, .only_count = count};
    return sweep_open(&sweep, &request, &error);
}

static void load_well(const char *text)
{
    if (load_only(text, NULL, 0) != 0)
        fail_msg("line %d of %s: %s", error.line, error.file, error.message);
}

static void append_list(char **text, const char *name, const struct value_list *list)
{
    char buffer[VALUE_TEXT_BYTES];
    alloc_append(text, " %s=", name);
    for (size_t i = 0; i < list->count; i++)
        alloc_append(text, "%s%s", i > 0 ? "," : "", value_exact_text(list->values[i], buffer));
}

/* What the tables compare with, a new string: LABEL of PATH: values; problems; constraints. */
static void append_kernel(char **text, const struct sweep_kernel *kernel)
{
    alloc_append(text, "; %s of %s %s:", kernel->label, kernel->template.path,
                 kernel->cold ? "cold" : "warm");
    for (size_t i = 0; i < kernel->template.parameter_count; i++)
        append_list(text, kernel->template.parameters[i].name, &kernel->values[i]);
    alloc_append(text, "; %zu problems", kernel->problem_count);
    for (size_t i = 0; i < kernel->problem_count && i < 8; i++) {
        char *problem = bindings_text(&kernel->problems[i]);
        alloc_append(text, "%s %s", i > 0 ? "," : "", problem);
        free(problem);
    }
    alloc_append(text, "; %zu of %zu constraints", kernel->own_constraint_count,
                 kernel->constraint_count);
    for (size_t i = 0; i < kernel->constraint_count; i++)
        alloc_append(text, "%s %s", i > 0 ? "," : "", expression_text(kernel->constraints[i]));
    if (kernel->limited)
        alloc_append(text, "; limits %.0f s, %zu", kernel->limits.budget_s,
                     kernel->limits.evaluations);
    for (size_t i = 0; i < kernel->cover.axis_count; i++)
        alloc_append(text, "%s %s %lld..%lld", i == 0 ? "; cover" : ",", kernel->cover.axes[i].name,
                     (long long)kernel->cover.axes[i].low, (long long)kernel->cover.axes[i].high);
    if (kernel->cover.axis_count > 0)
        alloc_append(text, " by %zu, line %d", kernel->cover.configurations, kernel->cover.line);
}

static char *description(void)
{
    char *text =
        alloc_format("%s in %s, %.0f and %.0f ms, limits %.0f s, %zu", sweep.tuned, sweep.results,
                     1000 * sweep.launch_timeout_s, 1000 * sweep.compile_timeout_s,
                     sweep.limits.budget_s, sweep.limits.evaluations);
    for (size_t i = 0; i < sweep.kernel_count; i++)
        append_kernel(&text, &sweep.kernels[i]);
    return text;
}

static void check_case(void *user, const struct test_case *test)
{
    (void)user;
    int status = load_only(test->fields[0], NULL, 0);
    if (test->count == 2) {
        if (status != 0)
            case_fail(test, "line %d: %s", error.line, error.message);
        char *text = description();
        case_assert_text(test, text, test->fields[1]);
        free(text);
        return;
    }
    case_assert_text(test, error.message, test->fields[2]);
    if (status != ERROR_CONFIG || error.line != strtol(test->fields[1], NULL, 10) ||
        strcmp(error.file, "configs/s.ini") != 0)
        case_fail(test, "error %d at line %d of %s", status, error.line, error.file);
    assert_null(sweep.kernels);
    assert_null(sweep.path);
}

UNIT_TEST_WITH(sweeps, enter, leave)
{
    cases_run(CASES, check_case, NULL);
}

UNIT_TEST_WITH(sweeps_in_another_locale, enter, leave)
{
    if (!comma_locale_enter())
        skip();
    sweeps(state);
    comma_locale_leave();
}

UNIT_TEST_WITH(tuples_are_constraints, enter, leave)
{
    load_well("[sum]\n(block_size, finish) = (64, atomic), (128, two_pass), (64, two_pass)\n");
    const struct sweep_kernel *kernel = &sweep.kernels[0];
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

UNIT_TEST_WITH(settings_replace_lists, enter, leave)
{
    const char *const values[] = {"n = 3, 4", "(block_size, finish)=(64,atomic)", NULL};
    const char *const only[] = {"sum"};
    load_well("[sum]\nn = 1\nblock_size = 1, 2\n[scan]\n");
    sweep_release(&sweep);
    struct sweep_request request = {.path = "configs/s.ini", .settings = values};
    assert_int_equal(sweep_open(&sweep, &request, &error), ERROR_CONFIG);
    assert_string_equal(error.message,
                        "unknown parameter or problem value 'finish'; expected one of: block_size");
    request.only = only;
    request.only_count = 1;
    assert_int_equal(sweep_open(&sweep, &request, &error), 0);
    char *text = description();
    assert_non_null(strstr(text, ": block_size=64 finish=atomic factor=1; 2 problems n=3 "
                                 "value_type=float, n=4 value_type=float;"));
    free(text);
}

UNIT_TEST_WITH(a_template_alone_is_a_sweep, enter, leave)
{
    const struct sweep_request request = {.template = "kernel_templates/sum.ini"};
    assert_int_equal(sweep_open(&sweep, &request, &error), 0);
    char *text = description();
    assert_string_equal(text,
                        "results/tuned.ini in results, 2000 and 60000 ms, limits 0 s, 0; sum of "
                        "kernel_templates/sum.ini warm: block_size=256 finish=two_pass "
                        "factor=1; 1 problems n=1048576 value_type=float; 0 of 1 constraints "
                        "block_size % 32 == 0");
    free(text);
}

UNIT_TEST_WITH(some_kernels_only, enter, leave)
{
    static const char text[] = "[sum]\n[scan]\n[other]\ntemplate = scan\nblock_size = 32\n";
    assert_int_equal(load_only(text, (const char *const[]){"other", "sum"}, 2), 0);
    assert_int_equal(sweep.kernel_count, 2);
    assert_string_equal(sweep.kernels[0].label, "sum"); /* in the file's order */
    assert_string_equal(sweep.kernels[1].label, "other");
    assert_int_equal(load_only(text, (const char *const[]){"sum", "sum"}, 2), 0);
    assert_int_equal(sweep.kernel_count, 1);
    assert_int_equal(load_only(text, (const char *const[]){"sum", "scam"}, 2), ERROR_USAGE);
    assert_int_equal(error.code, ERROR_USAGE);
    assert_string_equal(error.message, "unknown kernel 'scam'; did you mean 'scan'?");
    assert_string_equal(error.file, "configs/s.ini");
    assert_int_equal(load_only(text, (const char *const[]){"sweep"}, 1), ERROR_USAGE);
    assert_string_equal(error.message, "unknown kernel 'sweep'; expected one of: sum, scan, other");
}

/* What is not asked for is not loaded, and so may be wrong. */
UNIT_TEST_WITH(the_others_may_be_wrong, enter, leave)
{
    static const char text[] = "[missing]\n[sum]\n";
    assert_int_equal(load_only(text, (const char *const[]){"sum"}, 1), 0);
    assert_int_equal(load_only(text, NULL, 0), ERROR_CONFIG);
}

/* --- where templates are --- */

static void assert_path(const char *text, const char *path)
{
    load_well(text);
    assert_string_equal(sweep.kernels[0].template.path, path);
}

UNIT_TEST_WITH(templates_are_found, enter, leave)
{
    /* the project's templates come before those beside the sweep, unless these are none */
    assert_int_equal(scratch_write("configs/scan.ini", "[sweep]\ntuned = x\n[scan]\nn = 4\n"), 0);
    assert_path("[scan]\n", "configs/../kernel_templates/scan.ini");
    static const char none[] = "no template 'scan'; 'configs/./scan.ini' is not one, since it has "
                               "no [launch.NAME] section; name its folder with 'templates' in "
                               "[sweep]";
    assert_int_equal(load_only("[sweep]\ntemplates = .\n[scan]\n", NULL, 0), ERROR_CONFIG);
    assert_string_equal(error.message, none);
    assert_int_equal(unlink("kernel_templates/scan.ini"), 0);
    assert_int_equal(load_only("[scan]\n", NULL, 0), ERROR_CONFIG);
    assert_string_equal(error.message, none);
    assert_int_equal(scratch_write("configs/scan.ini", scan), 0);
    assert_int_equal(scratch_write("configs/scan.cu", SOURCE), 0);
    assert_path("[scan]\n", "configs/./scan.ini");
    assert_int_equal(scratch_write("kernel_templates/scan.ini", scan), 0);
    assert_path("[scan]\n", "configs/../kernel_templates/scan.ini");
    /* a folder that is named is the only one */
    char *folder = realpath("kernel_templates", NULL);
    char *text = alloc_format("[sweep]\ntemplates = %s\n[scan]\n", folder);
    char *path = alloc_format("%s/scan.ini", folder);
    assert_path(text, path);
    free(path);
    free(text);
    free(folder);
}

UNIT_TEST_WITH(faults_of_a_template_are_its_own, enter, leave)
{
    assert_int_equal(scratch_write("kernel_templates/sum.ini", "[parameters]\nBlock = 1\n"), 0);
    assert_int_equal(load_only("[scan]\n[sum]\n", NULL, 0), ERROR_CONFIG);
    assert_string_equal(error.file, "configs/../kernel_templates/sum.ini");
    assert_int_equal(error.line, 2);
    assert_null(sweep.kernels);
    const struct sweep_request request = {.path = "/nonexistent/s.ini"};
    assert_int_equal(sweep_open(&sweep, &request, &error), ERROR_CONFIG);
    assert_string_equal(error.file, "/nonexistent/s.ini");
    assert_string_equal(error.message, "cannot open the file: No such file or directory");
}

/* --- GPUs --- */

UNIT_TEST(numbers_and_all_are_read)
{
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

UNIT_TEST(anything_else_is_refused)
{
    static const char *const wrong[] = {"",    "-1",  "0,",    ",0",  "0 1", "0,0",
                                        "All", "0-3", "all,0", "1.5", "+1",  "10000",
                                        "x",   " ",   "0,,1",  "0;1", "0x1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct device_list list;
        assert_false(device_list_parse(wrong[i], &list));
        assert_false(device_list_is_stated(&list));
    }
}
