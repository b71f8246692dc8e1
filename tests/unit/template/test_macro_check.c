/* Misspelt parameters are found by what the source names. */
#include "template/problem_check.h"

#include "base/alloc.h"
#include "template/template_load.h"

#include "unit/scratch.h"
#include "unit/test.h"

/* Checks a template with `parameters` of a source and its header. */
static int check(const char *parameters, const char *source, const char *header,
                 struct error *error)
{
    struct template template = {0};
    char *ini = alloc_format("[kernel]\noptions = -DALIAS=OPTION\n%s[problem]\nn = 1\n"
                             "type = float | double\n[buffer.out]\ntype = type\nlength = n\n"
                             "access = write\n[launch.main]\nentry = k\ngrid = 1\nblock = 1\n"
                             "when = mode == \"good\"\narguments = out\n[expect.out]\n"
                             "reference = constant(0)\ncompare = exact\n",
                             parameters);
    assert_int_equal(scratch_write("t.ini", ini), 0);
    assert_int_equal(scratch_write("t.cu", source), 0);
    assert_int_equal(scratch_write("t.cuh", header), 0);
    free(ini);
    if (template_load(&template, "t.ini", error) != 0)
        fail_msg("line %d: %s", error->line, error->message);
    int status = macro_check(&template, error);
    template_release(&template);
    return status;
}

#define MODE "[launch_parameters]\nmode = good | bad\nchunk = 4\n"

static void macros_that_are_named_somewhere(void **state)
{
    struct error error = {0};
    assert_int_equal(check(MODE "[parameters]\npad = 1\n", "int a = PAD;", "", &error), 0);
    assert_int_equal(
        check(MODE "[parameters]\npad = 1\n", "#include \"t.cuh\"\n", "int a = PAD;", &error), 0);
    assert_int_equal(check(MODE "[parameters]\noption = 1\n", "int a = ALIAS;", "", &error), 0);
    assert_int_equal(check(MODE, "", "", &error), 0);
}

static void words_of_comments_and_strings_do_not_count(void **state)
{
    static const struct {
        const char *text;
        bool named;
    } cases[] = {
        {"int a = 1 + PAD;", true},
        {"a // b \\\nPAD\nd", false},
        {"a /* PAD */ c /* PAD", false},
        {"a \"PAD\" 'PAD' \"f \\\" PAD\"", false},
        {"#error don't PAD\nc", false},
        {"#if 0\ndon't\n#endif\nPAD", true},
        {"1'000 + 0x1Fp-3f + PAD", true},
        {"R\"x(b)\" PAD)x\" d", false},
        {"R\"(e)\" PAD R g", true},
        {"PRIR\"(e\" PAD", true},
        {"P\\\nAD", true},
        {"\"PAD", false},
        {"// a\\", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error = {0};
        int status = check(MODE "[parameters]\npad = 1\n", cases[i].text, "", &error);
        if (status != (cases[i].named ? 0 : ERROR_CONFIG))
            fail_msg("%s", cases[i].text);
    }
}

static void a_macro_that_is_named_nowhere_is_refused(void **state)
{
    struct error error = {0};
    assert_int_equal(check(MODE "[parameters]\npad_size = 1\n",
                           "/* PAD_SIZE */ const char *s = \"PAD_SIZE\"; int a = PADSIZE;",
                           "int b = PAD_SIZE;", &error),
                     ERROR_CONFIG);
    assert_string_equal(error.message,
                        "'pad_size' changes nothing: the source and its headers do not name the "
                        "macro 'PAD_SIZE'; did you mean 'PADSIZE'?");
    assert_int_equal(error.line, 7);
    assert_int_equal(
        check(MODE "[parameters]\nflavour = salt | sugar\n", "int a = SALT;", "", &error),
        ERROR_CONFIG);
    assert_string_equal(error.message,
                        "'flavour' changes nothing: the source and its headers do not name the "
                        "macro 'FLAVOUR'; name it there or in an expression");
    assert_int_equal(check(MODE "[parameters]\nflavour = 3\n", "int a = SALT;", "", &error),
                     ERROR_CONFIG);
    assert_string_equal(error.message,
                        "'flavour' changes nothing: the source and its headers do not name the "
                        "macro 'FLAVOUR'; name it there, or make it a launch parameter");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_comments_and_strings_do_not_count),
        cmocka_unit_test(macros_that_are_named_somewhere),
        cmocka_unit_test(a_macro_that_is_named_nowhere_is_refused),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
