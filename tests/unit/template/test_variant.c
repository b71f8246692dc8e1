#include "template/variant.h"

#include "base/alloc.h"
#include "template/compiler_option.h"
#include "template/template_load.h"

#include "unit/scratch.h"
#include "unit/test.h"

#include <unistd.h>

struct scene {
    char *folder;
    struct template template;
    struct bindings parameters;
    struct bindings problem;
};

static const char source_text[] =
    "#include <cooperative_groups.h>\n#include <cuda/atomic>\n#include <cuda/barrier>\n";

static int make_scene(void **state)
{
    struct scene *scene = alloc_zeroed(1, sizeof *scene);
    struct error error;
    if (scratch_enter((void **)&scene->folder) != 0)
        return -1;
    *state = scene;
    assert_int_equal(scratch_write("t.cu", source_text), 0);
    assert_int_equal(scratch_write("t.ini",
                                   "[kernel]\noptions = --use_fast_math -lineinfo\n"
                                   "[parameters]\nblock_size = 256\nscale = 0.5\n"
                                   "finish = two_pass | atomic\n"
                                   "[launch_parameters]\ngrid_factor = 1\norder = up | down\n"
                                   "[precompiled_headers]\n"
                                   "cooperative_groups.h = finish == \"atomic\" and n >= 1000\n"
                                   "cuda/atomic = yes\n"
                                   "cuda/barrier = 1 // (block_size - 512) > 0\n"
                                   "[problem]\nn = 1000\nvalue_type = float | int32\n"
                                   "[buffer.out]\ntype = float\nlength = n\naccess = write\n"
                                   "[launch.run]\nentry = k\ngrid = 1\nblock = 1\n"
                                   "[expect.out]\nreference = constant(0)\ncompare = exact\n"),
                     0);
    if (template_load(&scene->template, "t.ini", &error) != 0) {
        error_print(&error, stderr);
        return -1;
    }
    variant_defaults(&scene->template, &scene->parameters);
    bindings_set(&scene->problem, "n", value_integer(1000));
    bindings_set(&scene->problem, "value_type", value_word("int32"));
    return 0;
}

static int remove_scene(void **state)
{
    struct scene *scene = *state;
    template_release(&scene->template);
    bindings_release(&scene->parameters);
    bindings_release(&scene->problem);
    int status = scratch_leave((void **)&scene->folder);
    free(scene);
    return status;
}

/* The options but the include folders, separated by blanks. */
static char *text_of(const struct scene *scene)
{
    struct options options;
    char *text = alloc_string("");
    assert_int_equal(
        variant_options(&scene->template, &scene->parameters, &scene->problem, &options, NULL), 0);
    for (size_t i = 0; i < options.count; i++) {
        if (strncmp(options.items[i], "-I", 2) == 0)
            continue;
        alloc_append(&text, "%s%s", text[0] != '\0' ? " " : "", options.items[i]);
    }
    options_release(&options);
    assert_int_equal(options.count, 0);
    assert_null(options.items);
    return text;
}

static void assert_options(const struct scene *scene, const char *expected)
{
    char *text = text_of(scene);
    assert_string_equal(text, expected);
    free(text);
}

UNIT_TEST_WITH(defaults, make_scene, remove_scene)
{
    struct scene *scene = *state;
    char *text;
    bindings_set(&scene->parameters, "stray", value_integer(1));
    variant_defaults(&scene->template, &scene->parameters);
    text = bindings_text(&scene->parameters);
    assert_string_equal(text, "block_size=256 scale=0.5 finish=two_pass grid_factor=1 order=up");
    free(text);
}

/* Numbers of the problem and launch parameters are not there; words of either kind are. */
UNIT_TEST_WITH(definitions, make_scene, remove_scene)
{
    struct scene *scene = *state;
    assert_options(scene, "--use_fast_math -lineinfo -DBLOCK_SIZE=256 -DSCALE=0.5 "
                          "-DFINISH=FINISH_TWO_PASS -DORDER=ORDER_UP "
                          "-DVALUE_TYPE=VALUE_TYPE_INT32");
    bindings_set(&scene->parameters, "block_size", value_integer(-64));
    bindings_set(&scene->parameters, "finish", value_word("atomic"));
    bindings_set(&scene->problem, "value_type", value_word("float"));
    assert_options(scene, "--use_fast_math -lineinfo -DBLOCK_SIZE=-64 -DSCALE=0.5 "
                          "-DFINISH=FINISH_ATOMIC -DORDER=ORDER_UP -DVALUE_TYPE=VALUE_TYPE_FLOAT");
}

/* 1 / SCALE must not become a division of whole numbers. */
UNIT_TEST_WITH(real_numbers_stay_real, make_scene, remove_scene)
{
    struct scene *scene = *state;
    static const struct {
        double real;
        const char *definition;
    } cases[] = {{2, "-DSCALE=2.0 "},      {-3, "-DSCALE=-3.0 "},
                 {0.25, "-DSCALE=0.25 "},  {1e300, "-DSCALE=1e+300 "},
                 {1e-9, "-DSCALE=1e-09 "}, {0.1 + 0.2, "-DSCALE=0.30000000000000004 "}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bindings_set(&scene->parameters, "scale", value_real(cases[i].real));
        char *text = text_of(scene);
        assert_non_null(strstr(text, cases[i].definition));
        free(text);
    }
    bindings_set(&scene->parameters, "scale", value_integer(2));
    char *text = text_of(scene);
    assert_non_null(strstr(text, "-DSCALE=2 "));
    free(text);
}

UNIT_TEST_WITH(variants_that_share_a_cubin, make_scene, remove_scene)
{
    struct scene *scene = *state;
    char *before = text_of(scene);
    bindings_set(&scene->parameters, "grid_factor", value_integer(8));
    bindings_set(&scene->problem, "n", value_integer(1 << 24));
    assert_options(scene, before);
    free(before);
}

UNIT_TEST_WITH(include_folders_come_first, make_scene, remove_scene)
{
    struct scene *scene = *state;
    struct options options;
    assert_int_equal(
        variant_options(&scene->template, &scene->parameters, &scene->problem, &options, NULL), 0);
    char *folder = realpath(".", NULL);
    assert_non_null(folder);
    char *expected = alloc_format("-I%s", folder);
    assert_string_equal(options.items[0], expected);
    assert_string_equal(options.items[1], "--use_fast_math");
    free(expected);
    free(folder);
    options_release(&options);
}

UNIT_TEST_WITH(headers_are_those_of_the_variant, make_scene, remove_scene)
{
    struct scene *scene = *state;
    struct options options;
    struct options copy;
    assert_int_equal(
        variant_options(&scene->template, &scene->parameters, &scene->problem, &options, NULL), 0);
    variant_headers(&scene->template, &scene->parameters, &scene->problem, &options);
    assert_int_equal(options.header_count, 1); /* finish is two_pass */
    assert_string_equal(options.headers[0], "cuda/atomic");
    options_release(&options);

    bindings_set(&scene->parameters, "finish", value_word("atomic"));
    assert_int_equal(
        variant_options(&scene->template, &scene->parameters, &scene->problem, &options, NULL), 0);
    variant_headers(&scene->template, &scene->parameters, &scene->problem, &options);
    options_copy(&copy, &options);
    options_release(&options);
    assert_int_equal(copy.header_count, 2);
    assert_string_equal(copy.headers[0], "cooperative_groups.h");
    /* block_size, scale, finish, order and value_type, after the folder and the options */
    assert_int_equal(copy.definition_count, 5);
    assert_int_equal(copy.count, 3 + 5);
    assert_string_equal(copy.items[3], "-DBLOCK_SIZE=256");
    options_release(&copy);
}

/* The header options, separated by blanks and without their hashes. */
static char *header_options(const struct source *source)
{
    struct options options = {0};
    char *text = alloc_string("");
    options_add_headers(&options, source);
    for (size_t i = 0; i < options.count; i++) {
        const char *name = compiler_option_value(options.items[i], COMPILER_OPTION_HEADER);
        assert_non_null(name);
        alloc_append(&text, "%s%.*s", i > 0 ? " " : "", (int)strcspn(name, " "), name);
    }
    options_release(&options);
    return text;
}

UNIT_TEST_WITH(standard_headers_are_those_that_the_folders_lack, make_scene, remove_scene)
{
    char own[] = "/folder/own/limits.h";
    struct source_file files[] = {{0}, {.path = own}};
    char *includes[] = {"cooperative_groups.h", "stdint.h", "limits.h", "cuda/atomic", "cassert"};
    struct source source = {.toolkit_headers = includes, .toolkit_count = 5};
    char *text = header_options(&source);
    assert_string_equal(text, "stdint.h limits.h cassert");
    free(text);
    source.files = files;
    source.followed_count = 2;
    text = header_options(&source);
    assert_string_equal(text, "stdint.h cassert");
    free(text);
}

UNIT_TEST_WITH(a_header_whose_expression_fails_is_not_precompiled, make_scene, remove_scene)
{
    struct scene *scene = *state;
    struct options options = {0};
    for (int64_t size = 256; size <= 512; size += 256) {
        bindings_set(&scene->parameters, "block_size", value_integer(size));
        variant_headers(&scene->template, &scene->parameters, &scene->problem, &options);
        assert_int_equal(options.header_count, 1); /* 512: a division by zero */
        options_release(&options);
    }
}

/* The names that are not launched, by a variant with that `finish` or by the helpers (NULL). */
static char *unlaunched(const struct scene *scene, const char *finish)
{
    struct bindings parameters = {0};
    struct options options;
    char *text = alloc_string("");
    variant_defaults(&scene->template, &parameters);
    if (finish != NULL)
        bindings_set(&parameters, "finish", value_word(finish));
    assert_int_equal((finish == NULL ? helper_options : variant_options)(
                         &scene->template, &parameters, &scene->problem, &options, NULL),
                     0);
    for (size_t i = 0; i < options.count; i++) {
        const char *name = compiler_option_value(options.items[i], COMPILER_OPTION_UNLAUNCHED);
        if (name != NULL)
            alloc_append(&text, " %s", name);
    }
    options_release(&options);
    bindings_release(&parameters);
    return text;
}

static void assert_unlaunched(const struct scene *scene, const char *finish, const char *expected)
{
    char *text = unlaunched(scene, finish);
    assert_string_equal(text, expected);
    free(text);
}

/* `maybe` depends on what the compiler does not get: variants that differ in it share a cubin. */
static const char launches[] = "[launch.first]\nentry = first\nwhen = finish == \"two_pass\"\n"
                               "grid = 1\nblock = 1\n"
                               "[launch.second]\nentry = second\nwhen = finish == \"atomic\"\n"
                               "grid = 1\nblock = 1\n"
                               "[launch.maybe]\nentry = maybe\nwhen = grid_factor > 1\n"
                               "grid = 1\nblock = 1\n"
                               "[expect.out]\nreference = slow\ngrid = 1\nblock = 1\n"
                               "arguments = reference\ncompare = exact\n";

static void append_template(struct scene *scene, const char *more, const char *symbol)
{
    struct error error;
    char *old = scratch_read("t.ini");
    char *place = strstr(old, "[launch.run]");
    assert_non_null(place);
    char *text = alloc_format("%.*s%s%s", (int)(place - old), old, symbol, more);
    assert_int_equal(scratch_write("t.ini", text), 0);
    template_release(&scene->template);
    if (template_load(&scene->template, "t.ini", &error) != 0)
        fail_msg("%s", error.message);
    free(text);
    free(old);
}

UNIT_TEST_WITH(what_is_not_launched_is_named, make_scene, remove_scene)
{
    struct scene *scene = *state;
    assert_unlaunched(scene, "atomic", "");
    append_template(scene, launches, "");
    assert_unlaunched(scene, "atomic", " slow first");
    assert_unlaunched(scene, "two_pass", " slow second");
    assert_unlaunched(scene, NULL, " first second maybe");
}

/* Its macro would be there, and the condition mean something else. */
UNIT_TEST_WITH(what_a_condition_names_is_compiled, make_scene, remove_scene)
{
    struct scene *scene = *state;
    static const char *const texts[] = {
        "#ifdef slow\n#endif\n",
        "#if \\\n defined(slow)\n#endif\n",
        "#define SLOW defined slow\n#if SLOW\n#endif\n",
        "#define TEXT_OF(name) #name\n#define NAME_OF(name) TEXT_OF(name)\n"
        "#define SLOW NAME_OF(slow)\n",
    };
    append_template(scene, launches, "");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct error error;
        char *text = alloc_format("%s%s", source_text, texts[i]);
        assert_int_equal(scratch_write("t.cu", text), 0);
        free(text);
        template_release(&scene->template);
        assert_int_equal(template_load(&scene->template, "t.ini", &error), 0);
        assert_unlaunched(scene, "atomic", " first");
        assert_unlaunched(scene, NULL, " first second maybe");
    }
}

/* The compiler would remove a variable that only the reference uses. */
UNIT_TEST_WITH(a_variable_that_is_a_buffer_keeps_every_kernel, make_scene, remove_scene)
{
    struct scene *scene = *state;
    append_template(scene, launches, "symbol = table\n");
    assert_unlaunched(scene, "atomic", "");
    assert_unlaunched(scene, NULL, "");
}
