#include "template/template.h"

#include "base/alloc.h"
#include "template/template_load.h"

#include "unit/cases.h"
#include "unit/comma_locale.h"
#include "unit/scratch.h"

#include <autotune/tuned.h>

/* The template of the test, which is in sum.ini and sum.cu of the current folder. */
static struct template template;
static struct error error;

static int enter(void **state)
{
    if (scratch_enter(state) != 0)
        return -1;
    return scratch_write("sum.cu", "#include <cooperative_groups.h>\n"
                                   "extern \"C\" __global__ void k() {}\n");
}

static int leave(void **state)
{
    template_release(&template);
    return scratch_leave(state);
}

/* Loads `text`, in place of what was loaded before. */
static int load(const char *text)
{
    template_release(&template);
    assert_int_equal(scratch_write("sum.ini", text), 0);
    error = (struct error){0};
    return template_load(&template, "sum.ini", &error);
}

static void load_well(const char *text)
{
    if (load(text) != 0)
        fail_msg("line %d is refused: %s", error.line, error.message);
}

/* A template that is right; tests put one text in place of another. */
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
static char *replaced(const char *from, const char *to)
{
    const char *at = strstr(right, from);
    if (at == NULL)
        fail_msg("the template has no '%s'", from);
    return alloc_format("%.*s%s%s", (int)(at - right), right, to, at + strlen(from));
}

/* Appends the texts of expressions, separated by commas, "-" for one that is not there. */
static void append(char **text, const char *what, struct expression *const *expressions,
                   size_t count)
{
    alloc_append(text, " %s", what);
    for (size_t i = 0; i < count; i++)
        alloc_append(text, "%s%s", i > 0 ? ", " : " ",
                     expressions[i] != NULL ? expression_text(expressions[i]) : "-");
}

/* What the tables compare with: a new string. */
static char *description(void)
{
    static const char *const fills[] = {"constant", "uniform", "integers", "counting",
                                        "normal",   "kernel",  "file",     "none"};
    static const char *const accesses[] = {"read", "write", "read_write", "scratch"};
    static const char *const compares[] = {"exact", "close", "unordered", "none"};
    static const char *const kinds[] = {"reference", "launches", "constant", "file"};
    char *text = alloc_format("%s: %s;", template.description, template.cold ? "cold" : "warm");
    for (size_t i = 0; i < template.option_count; i++)
        alloc_append(&text, " %s", template.options[i].text);
    append(&text, "; constraints", template.constraints, template.constraint_count);
    for (size_t i = 0; i < template.buffer_count; i++) {
        const struct buffer *buffer = &template.buffers[i];
        alloc_append(&text, "; buffer %s %s %s%s", buffer->name, buffer->type,
                     accesses[buffer->access], buffer->unchecked ? " unchecked" : "");
        append(&text, fills[buffer->fill.kind], buffer->fill.arguments,
               buffer->fill.argument_count);
        alloc_append(&text, " %s", buffer->fill.path != NULL ? buffer->fill.path : "");
    }
    for (size_t i = 0; i < template.launch_count; i++) {
        const struct launch *launch = &template.launches[i];
        struct expression *const others[] = {
            launch->when,      launch->shared_bytes,   launch->cooperative, launch->co_resident,
            launch->loop.from, launch->loop.condition, launch->loop.next};
        alloc_append(&text, "; launch %s %s%s %s", launch->name, launch->entry,
                     launch->main ? " main" : "",
                     launch->loop.name != NULL ? launch->loop.name : "-");
        append(&text, "grid", launch->grid, launch->grid_count);
        append(&text, "block", launch->block, launch->block_count);
        append(&text, "others", others, sizeof others / sizeof *others);
        for (size_t j = 0; j < launch->argument_count; j++) {
            char *argument = argument_text(&launch->arguments[j]);
            alloc_append(&text, ", %s", argument);
            free(argument);
        }
    }
    for (size_t i = 0; i < template.expectation_count; i++) {
        const struct expectation *expectation = &template.expectations[i];
        struct expression *const tolerances[] = {expectation->absolute, expectation->relative};
        alloc_append(&text, "; expect %s %s %s %s", template.buffers[expectation->buffer].name,
                     kinds[expectation->kind],
                     expectation->reference_type != NULL ? expectation->reference_type : "-",
                     compares[expectation->compare]);
        append(&text, "", tolerances, 2);
        append(&text, "grid", expectation->reference.grid, expectation->reference.grid_count);
        append(&text, "block", expectation->reference.block, expectation->reference.block_count);
        append(&text, "fill", expectation->fill.arguments, expectation->fill.argument_count);
        alloc_append(&text, " %s", expectation->fill.path != NULL ? expectation->fill.path : "");
    }
    append(&text, "; metrics", (struct expression *[]){template.bytes, template.operations}, 2);
    return text;
}

struct hashes {
    char items[32][HASH_BYTES];
    size_t count;
};

static void check_hash(struct hashes *hashes, const struct test_case *test, bool same)
{
    for (size_t i = 0; i < hashes->count; i++)
        if ((strcmp(hashes->items[i], template.hash) == 0) != (same && i == 0))
            case_fail(test, "the hash is %s", same ? "another" : "not another");
    if (!same)
        memcpy(hashes->items[hashes->count++], template.hash, HASH_BYTES);
}

static void check_case(void *user, const struct test_case *test)
{
    const char *verdict = test->count > 2 ? test->fields[2] : "";
    char *text = replaced(test->fields[0], test->fields[1]);
    int status = load(text);
    free(text);
    if (test->count == 4 && strcmp(verdict, "has") != 0) {
        if (status != ERROR_CONFIG)
            case_fail(test, "'%s' is accepted", test->fields[1]);
        case_assert_text(test, error.message, test->fields[3]);
        if (error.line != strtol(verdict, NULL, 10) || strcmp(error.file, "sum.ini") != 0)
            case_fail(test, "it is at line %d of %s", error.line, error.file);
        assert_null(template.name); /* empty */
        return;
    }
    if (status != 0)
        case_fail(test, "line %d is refused: %s", error.line, error.message);
    if (test->count == 4) {
        text = description();
        case_assert_text(test, text, test->fields[3]);
        free(text);
    } else if (test->count == 3) {
        check_hash(user, test, strcmp(verdict, "same") == 0);
    }
}

UNIT_TEST_WITH(templates, enter, leave)
{
    struct hashes hashes = {.count = 1};
    load_well(right);
    memcpy(hashes.items[0], template.hash, HASH_BYTES);
    cases_run(CASES, check_case, &hashes);
}

/* --- what loads --- */

UNIT_TEST_WITH(keys_and_their_defaults, enter, leave)
{
    static const struct {
        const char *text, *description;
    } cases[] = {
        {"[kernel]\n"
         "source = sum.cu                     ; relative to this file\n"
         "description = sum of n numbers      ; one line\n"
         "options = --use_fast_math   -lineinfo\n"
         "include = ..\n"
         "constraint = block_size % 32 == 0   ; any number of them\n"
         "cache = warm\n"
         "[parameters]                        ; with their defaults\n"
         "block_size = 256\n"
         "[problem]\n"
         "n = 2^24\n"
         "[buffer.out]\n"
         "type = float\nlength = 1\naccess = write\n"
         "[launch.partial]\n"
         "entry = reduce_partial\n"
         "when = n > 1\n"
         "grid = min(ceil_div(n, block_size), sm_count * blocks_per_sm)   ; 1 to 3 expressions\n"
         "block = block_size, 1\n"
         "shared_bytes = 0\n"
         "arguments = out, uint64 n\n"
         "cooperative = no\nco_resident = yes\nmain = yes\n"
         "loop = stride\nfrom = 1\nwhile = stride < n\nnext = stride * 2\n"
         "[expect.out]\n"
         "reference = reduce_reference\nreference_type = double\ngrid = 1\nblock = 1024\n"
         "arguments = out, reference, uint64 n\ncompare = relative(1e-5)\n"
         "[metrics]\n"
         "bytes = 4 * n                       ; moved by one run of all launches\n"
         "operations = n\n",
         "sum of n numbers: warm; --use_fast_math -lineinfo ; constraints block_size % 32 == 0; "
         "buffer out float write none ; launch partial reduce_partial main stride grid "
         "min(ceil_div(n, block_size), sm_count * blocks_per_sm) block block_size, 1 others n > 1, "
         "0, no, yes, 1, stride < n, stride * 2, out, uint64 n; expect out reference double close "
         " -, 1e-5 grid 1 block 1024 fill  ; metrics 4 * n, n"},
        {"[buffer.out]\ntype = float\nlength = 1\naccess = write\n"
         "[launch.run]\nentry = k\ngrid = 1\nblock = 1\n"
         "[expect.out]\nreference = constant(0)\ncompare = exact\n",
         ": cold; ; constraints; buffer out float write none ; launch run k - grid 1 block 1 "
         "others -, -, -, -, -, -, -; expect out constant - exact  -, - grid block fill 0  ; "
         "metrics -, -"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        load_well(cases[i].text);
        char *text = description();
        assert_string_equal(text, cases[i].description);
        free(text);
        assert_string_equal(template.name, "sum");
        assert_int_equal(strlen(template.hash), 32);
    }
}

UNIT_TEST_WITH(parameters_in_the_order_of_the_file, enter, leave)
{
    load_well(right);
    assert_string_equal(template.parameters[0].name, "block_size");
    assert_true(value_equal(template.parameters[0].fallback, value_integer(256)));
    assert_null(template.parameters[0].words);
    assert_true(template.parameters[0].compiled);
    assert_int_equal(template.parameters[0].line, 2);
    assert_string_equal(template.parameters[1].name, "finish");
    assert_true(value_equal(template.parameters[1].fallback, value_word("two_pass")));
    assert_int_equal(template.parameters[1].word_count, 2);
    assert_string_equal(template.parameters[1].words[1], "atomic");
    assert_true(template.parameters[1].compiled);
    assert_string_equal(template.parameters[2].name, "factor");
    assert_false(template.parameters[2].compiled);
    /* of the problem, only words are compiled in */
    assert_string_equal(template.problem[0].name, "n");
    assert_false(template.problem[0].compiled);
    assert_true(template.problem[1].compiled);
    assert_ptr_equal(template_parameter(&template, "finish"), &template.parameters[1]);
    assert_null(template_parameter(&template, "n"));
    assert_ptr_equal(template_problem_value(&template, "n"), &template.problem[0]);
    assert_null(template_problem_value(&template, "finish"));
}

/* A change of the source or of the generator of random numbers is another version; comments are not. */
UNIT_TEST_WITH(the_hash_is_of_the_source_and_the_generator, enter, leave)
{
    char first[HASH_BYTES];
    load_well(right);
    memcpy(first, template.hash, sizeof first);
    assert_int_equal(scratch_write("sum.cu", "// a remark\n#include <cooperative_groups.h>\n"
                                             "extern \"C\"\n__global__ void k ( ) { }\n"),
                     0);
    load_well(right);
    assert_string_equal(template.hash, first);
    assert_int_equal(scratch_write("sum.cu", "extern \"C\" __global__ void k(float *) {}\n"), 0);
    load_well(right);
    assert_string_not_equal(template.hash, first);
    load_well("[buffer.a]\ntype = float\nlength = 8\naccess = read_write\n"
              "fill = uniform(0, 1)\n[launch.k]\nentry = k\ngrid = 1\nblock = 1\n"
              "arguments = a\n[expect.a]\nreference = constant(0)\ncompare = exact\n");
    /* of the generator that gave all buffers without a seed the same numbers */
    assert_string_not_equal(template.hash, "e011b78acd1b2448172b2bcee494f00f");
}

/* --- what does not --- */

UNIT_TEST_WITH(missing_sections, enter, leave)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "the template has no [launch.NAME] section: nothing to run"},
        {"[launch.run]\nentry = k\ngrid = 1\nblock = 1\n",
         "the template has no [expect.NAME] section: nothing would be verified"},
        {"[launch.run]\nentry = k\ngrid = 1\nblock = 1\n[expect.out]\n"
         "reference = constant(0)\ncompare = exact\n",
         "unknown buffer 'out': the template has no buffers"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(load(cases[i].text), ERROR_CONFIG);
        assert_string_equal(error.message, cases[i].message);
    }
}

UNIT_TEST_WITH(files_that_are_missing, enter, leave)
{
    assert_int_equal(unlink("sum.cu"), 0);
    assert_int_equal(load(right), ERROR_CONFIG);
    assert_non_null(strstr(error.message, "sum.cu"));
    assert_int_equal(template_load(&template, "/nonexistent/t.ini", &error), ERROR_CONFIG);
    assert_string_equal(error.file, "/nonexistent/t.ini");
}

UNIT_TEST_WITH(the_locale_changes_no_default, enter, leave)
{
    if (!comma_locale_enter())
        skip();
    load_well(right);
    comma_locale_leave();
    const struct parameter *factor = template_parameter(&template, "factor");
    assert_non_null(factor);
    assert_true(value_equal(factor->fallback, value_real(1.5)));
}

/* `count` more members of a section behind the line `after`, which stays. */
static int load_more(const char *after, int count)
{
    char *more = alloc_string(after);
    for (int i = 0; i < count; i++) {
        char *longer = alloc_format("%smore_%d = 1\n", more, i);
        free(more);
        more = longer;
    }
    char *text = replaced(after, more);
    int status = load(text);
    free(text);
    free(more);
    return status;
}

UNIT_TEST_WITH(no_more_than_a_tuned_ini_holds, enter, leave)
{
    assert_int_equal(load_more("finish = two_pass | atomic\n", TUNED_PARAMETERS - 3), 0);
    assert_int_equal(template.parameter_count, TUNED_PARAMETERS);
    assert_int_equal(load_more("finish = two_pass | atomic\n", TUNED_PARAMETERS - 2), ERROR_CONFIG);
    assert_string_equal(error.message,
                        "the template has more than 64 parameters, the most a tuned INI can hold");
    assert_int_equal(error.line, 5 + TUNED_PARAMETERS - 2);
    assert_int_equal(load_more("n = 1024\n", TUNED_PROBLEM_VALUES - 2), 0);
    assert_int_equal(load_more("n = 1024\n", TUNED_PROBLEM_VALUES - 1), ERROR_CONFIG);
    assert_string_equal(
        error.message,
        "the template has more than 16 problem values, the most a tuned INI can hold");
}

/* The value of an expression for n = 1000 and blocks of 256 threads. */
static int64_t value_for_a_thousand(const struct expression *expression)
{
    struct bindings bindings = {0};
    bindings_set(&bindings, "n", value_integer(1000));
    bindings_set(&bindings, "block_size", value_integer(256));
    bindings_set(&bindings, "sm_count", value_integer(132));
    bindings_set(&bindings, "blocks_per_sm", value_integer(2));
    const struct scope scope = {.bindings = &bindings};
    struct evaluation evaluation = {&scope, &error, 0};
    int64_t value = evaluate_integer(&evaluation, expression, -1);
    if (evaluation.status != 0)
        fail_msg("%s", error.message);
    bindings_release(&bindings);
    return value;
}

UNIT_TEST_WITH(figures_stand_for_their_expressions, enter, leave)
{
    char *text =
        replaced("grid = ceil_div(n, block_size)\n", "grid = 2 * tiles, rest, min(slots, 1)\n"
                                                     "block = 1\n"
                                                     "[figures]\n"
                                                     "tiles = n // block_size + 1\n"
                                                     "rest = 10 - tiles\n"
                                                     "slots = sm_count * blocks_per_sm\n"
                                                     "[launch.last]\n"
                                                     "entry = k\n"
                                                     "grid = finish == 'tiles' ? 1 : tiles\n");
    load_well(text);
    const struct launch *launch = &template.launches[0];
    assert_int_equal(value_for_a_thousand(launch->grid[0]), 8); /* not 2 * 3 + 1 */
    assert_int_equal(value_for_a_thousand(launch->grid[1]), 6); /* not 10 - 3 + 1 */
    assert_int_equal(value_for_a_thousand(launch->grid[2]), 1);
    assert_string_equal(expression_text(launch->grid[0]), "2 * tiles"); /* as messages show it */
    assert_true(expression_uses(launch->grid[0], "block_size"));
    assert_true(expression_uses(template.launches[1].grid[0], "n"));
    assert_int_equal(template.figure_count, 3);
    free(text);
}

/* Each figure is twice as long as the one before it. */
UNIT_TEST_WITH(figures_that_grow_without_bound_are_refused, enter, leave)
{
    char *figures = alloc_string("[figures]\nf0 = n + n\n");
    for (int i = 1; i < 64; i++) {
        char *longer = alloc_format("%sf%d = f%d + f%d\n", figures, i, i - 1, i - 1);
        free(figures);
        figures = longer;
    }
    char *text = alloc_format("%s%s", right, figures);
    assert_int_equal(load(text), ERROR_CONFIG);
    assert_string_equal(error.message, "expression is longer than 65536 bytes");
    free(text);
    free(figures);
}

/* --- helpers of other modules --- */

UNIT_TEST_WITH(values_that_a_parameter_may_have, enter, leave)
{
    load_well(right);
    const struct parameter *number = template_parameter(&template, "block_size");
    const struct parameter *word = template_parameter(&template, "finish");
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

UNIT_TEST_WITH(constraints_that_wait_for_the_compiler, enter, leave)
{
    static const struct {
        const char *text;
        bool late;
    } cases[] = {{"registers < 64", true},
                 {"n > 1 and occupancy > 0.5", true},
                 {"block_size < max_threads_per_sm", false},
                 {"1 == 1", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct expression *expression;
        assert_int_equal(expression_new(&expression, cases[i].text, "s.ini", 1, &error), 0);
        assert_int_equal(constraint_needs_stats(expression), cases[i].late);
        expression_free(expression);
    }
}

UNIT_TEST_WITH(scratch_that_only_references_use, enter, leave)
{
    for (int used = 0; used < 2; used++) {
        char *section = alloc_format("%s[buffer.work]\ntype = float\nlength = n\naccess = scratch\n"
                                     "[reference.sum]\nentry = sum_reference\n"
                                     "arguments = in, work, expected(out)\n[expect.out]\n",
                                     used ? "[constants]\nroom = struct(work)\n" : "");
        char *text = replaced("[expect.out]\nreference = sum_reference\n"
                              "arguments = in, reference, uint64 n\n",
                              section);
        load_well(text);
        size_t work = template_buffer(&template, "work");
        assert_int_equal(buffer_is_for_references(&template, &template.buffers[work]), !used);
        free(text);
        free(section);
    }
}

UNIT_TEST_WITH(types_by_name_and_by_word, enter, leave)
{
    struct bindings inner = {0};
    struct bindings outer = {0};
    bindings_set(&inner, "n", value_integer(3));
    bindings_set(&outer, "value_type", value_word("bfloat16"));
    struct scope outside = {&outer, NULL};
    struct scope scope = {&inner, &outside};
    enum element_type type;
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
