#include "template/compiler_option.h"

#include "unit/test.h"

/* Each of these made NVRTC 13.0 or its ptxas create a file, or has it read options from one. */
static void test_options_that_write_files(void **state)
{
    static const char *const options[] = {
        "--time=x.csv",
        "-time=x.csv",
        "--create-pch=x",
        "-create-pch=x",
        "--pch",
        "-pch",
        "--pch-dir=.",
        "--fdevice-time-trace=x",
        "-fdevice-time-trace=x",
        "-Xcudafe",
        "-Xcudafe=--list=x",
        "-Xnvvm",
        "--ptxas-options=--compiler-stats-file=x",
        "-ptxas-options=--compiler-stats-file=x",
        "--ptxas-options=--compiler-stats-file",
        "-Xptxas=--compiler-stats-file=x",
        "--compiler-stats-file=x", /* behind -Xptxas as a word of its own */
        "--ptxas-options=-optf=x",
        "-Xptxas=--options-file=x",
        "-Xptxas=-o=x",
        "--output-file=x",
    };
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (!compiler_option_writes_files(options[i]))
            fail_msg("'%s' is allowed", options[i]);
}

/* Where an expression's value can follow, which may be any word. */
static void test_options_that_take_a_value(void **state)
{
    static const char *const options[] = {
        "--opt-level=", "-Xptxas=--opt-level=", "-maxrregcount=", "--ptxas-options=-dlcm=", "-DN="};
    static const char *const others[] = {"",
                                         "--opt-level",
                                         "-Xptxas=",
                                         "--ptxas-options=",
                                         "--",
                                         "--=",
                                         "-Xptxas=-Xptxas=",
                                         "-Xptxas=--",
                                         "opt-level=",
                                         "-Xptxas=--opt-level=-",
                                         "--maxrregcount=1=",
                                         "="};
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (!compiler_option_takes_value(options[i]))
            fail_msg("'%s' takes no value", options[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (compiler_option_takes_value(others[i]))
            fail_msg("'%s' takes a value", others[i]);
}

static void test_other_options(void **state)
{
    static const char *const options[] = {
        "",
        "-",
        "--",
        "time", /* as in `-D time` */
        "-DTIME=1",
        "-Dtime=x",
        "-lineinfo",
        "--use-pch=x",
        "--pch-messages=false",
        "--use_fast_math",
        "-opt-info=inline",
        "-Xptxas",
        "-Xptxas=-O3",
        "-dlcm=ca",
        "--ptxas-options=",
        "--ptxas-options=-v",
        "--ptxas-options=--warn-on-spills",
        "--ptxas-options=--opt-level=2",
    };
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (compiler_option_writes_files(options[i]))
            fail_msg("'%s' is refused", options[i]);
}

static void test_options_that_add_headers(void **state)
{
    static const char *const refused[] = {"-I",       "-I/usr/include",    "--include-path=pch",
                                          "-include", "--pre-include=x.h", "-include=x.h"};
    static const char *const allowed[] = {"-DI=1", "include", "-Xptxas", "--use_fast_math", ""};
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (!compiler_option_includes_files(refused[i]))
            fail_msg("'%s' is allowed", refused[i]);
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (compiler_option_includes_files(allowed[i]))
            fail_msg("'%s' is refused", allowed[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_that_write_files),
        cmocka_unit_test(test_options_that_take_a_value),
        cmocka_unit_test(test_other_options),
        cmocka_unit_test(test_options_that_add_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
