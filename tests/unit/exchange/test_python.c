#include "exchange/python_evaluate.h"
#include "exchange/python_translate.h"
#include "exchange/words.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- values --- */

/* "[1, 2.5, 'x']" */
static void print_value(FILE *stream, const struct python_value *value)
{
    if (value->kind == PYTHON_IS_INTEGER)
        fprintf(stream, "%" PRId64, value->integer);
    else if (value->kind == PYTHON_IS_REAL)
        fprintf(stream, "%g", value->real);
    else if (value->kind == PYTHON_IS_STRING)
        fprintf(stream, "'%s'", value->string);
    for (size_t i = 0; value->kind == PYTHON_IS_LIST && i < value->count; i++) {
        fputs(i > 0 ? " " : "", stream);
        print_value(stream, &value->items[i]);
    }
}

static void assert_value(const char *text, const char *expected)
{
    struct python_value value;
    struct error error;
    char *printed = NULL;
    size_t size;
    if (python_evaluate_text(text, &value, &error) != 0)
        fail_msg("'%s' is refused: %s", text, error.message);
    FILE *stream = open_memstream(&printed, &size);
    assert_non_null(stream);
    print_value(stream, &value);
    assert_int_equal(fclose(stream), 0);
    assert_string_equal(printed, expected);
    free(printed);
    python_value_release(&value);
}

static void test_lists_of_values_have_the_values_of_python(void **state)
{
    (void)state;
    assert_value("[1, 2, 4]", "1 2 4");
    assert_value("(1,)", "1");
    assert_value("list(range(1, 9))", "1 2 3 4 5 6 7 8");
    assert_value("range(8, 0, -3)", "8 5 2");
    assert_value("[128+64*i for i in range(3)]", "128 192 256");
    assert_value("[2**i for i in range(0, 6) if i % 2]", "2 8 32");
    assert_value("[x * y for x in (1, 2) for y in [x, 10]]", "1 10 4 20");
    assert_value("[1, 2] + [4] * 2 + list(())", "1 2 4 4");
    assert_value("['a', \"b c\"]", "'a' 'b c'");
    assert_value("[True, False, not 0]", "1 0 1");
    assert_value("sorted([3, 1, 2]) + [len([1, 2]), max(1, 5), min([4, 2]), sum([1, 2])]",
                 "1 2 3 2 5 2 3");
    assert_value("[7 / 2, 7 // 2, -7 // 2, -7 % 4, 7 % -4, 2 ** -1, 1_000, 0x10, 0b11, 1e3]",
                 "3.5 3 -4 1 -1 0.5 1000 16 3 1000");
    assert_value("[1 if 2 < 3 < 4 else 0, 3 in (1, 2), 5 & 6, 5 | 2, 1 << 4, -2 ** 2]",
                 "1 0 4 7 16 -4");
    assert_value("[int(2.7), int(-2.7), abs(-3), float(2), math.ceil(1.2)]", "2 -2 3 2 2");
}

static void test_lists_that_python_would_refuse_or_never_finish_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"range(10**9)",
                                        "[0] * 10**12",
                                        "[1,",
                                        "1 2",
                                        "x",
                                        "[i for i in 3]",
                                        "1 // 0",
                                        "1 % 0",
                                        "10 ** 40",
                                        "range(1, 2, 0)",
                                        "'a' + 'b'",
                                        "\"open",
                                        "010",
                                        "{1: 2}",
                                        "f(1)",
                                        "[0 for i in range(60000) for j in range(60000)]",
                                        "9223372036854775808",
                                        "1 < 'a'",
                                        "a.b",
                                        "().__class__",
                                        "print('x')",
                                        "[",
                                        ")",
                                        ""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct python_value value;
        struct error error = {0};
        if (python_evaluate_text(texts[i], &value, &error) == 0)
            fail_msg("'%s' has a value", texts[i]);
        assert_true(error.message[0] != '\0');
        python_value_release(&value);
    }
}

/* --- translations --- */

static const struct python_value three = {
    .kind = PYTHON_IS_LIST,
    .items = (struct python_value[]){{.integer = 3}, {.integer = 15}, {.integer = 7}},
    .count = 3};
static const struct python_name name_items[] = {
    {"x", "x", false, NULL},           {"BLOCK", "block", false, NULL},
    {"pad", "pad", false, NULL},       {"kind", "kind", true, NULL},
    {"width", "width", false, &three}, {"ProblemSize[0]", "problem_x", false, NULL},
};

static void assert_translated(bool condition, const char *text, const char *expected)
{
    struct words words = {0};
    const struct python_names names = {name_items, sizeof name_items / sizeof *name_items, &words};
    struct error error = {0};
    char *ours = NULL;
    int status = (condition ? python_translate_condition : python_translate_value)(text, &names,
                                                                                   &ours, &error);
    if (status != 0)
        fail_msg("'%s' is refused: %s", text, error.message);
    assert_string_equal(ours, expected);
    free(ours);
    words_release(&words);
}

static void test_conditions_are_written_as_a_person_would(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"32 <= x * BLOCK <= 1024", "32 <= x * block and x * block <= 1024"},
        {"x in (16, 32)", "x == 16 or x == 32"},
        {"x not in [1, pad]", "x != 1 and x != pad"},
        {"x in range(2, 5)", "x == 2 or x == 3 or x == 4"},
        {"not pad", "pad == 0"},
        {"not (x == 1 and pad)", "not (x == 1 and pad != 0)"},
        {"x % 2 == 0 or x ** 2 > 9", "x % 2 == 0 or x ^ 2 > 9"},
        {"x", "x != 0"},
        {"pad == True", "pad == 1"},
        {"(x > 1) + (x > 2) == 2", "(x > 1 ? 1 : 0) + (x > 2 ? 1 : 0) == 2"},
        {"1 if pad else x > 2", "(pad != 0 ? 1 : (x > 2 ? 1 : 0)) != 0"},
        {"(x or 2) > 1", "(x != 0 ? x : 2) > 1"},
        {"(x - (1 - pad)) // 2 > -1", "(x - (1 - pad)) // 2 > -1"},
        {"x - -1 > 0", "x - (-1) > 0"},
        {"-x ** 2 < 0", "-x ^ 2 < 0"},
        {"x << 2 > x >> 1", "x * 2 ^ 2 > x // 2 ^ 1"},
        {"(x > 1) & (x < 4)", "x > 1 and x < 4"},
        {"min([x, 2]) == max(pad, x, 1)", "min(x, 2) == max(pad, x, 1)"},
        {"kind == 'fast' and kind != \"Row Major\"", "kind == \"fast\" and kind != \"row_major\""},
        {"kind in ('a', 'b')", "kind == \"a\" or kind == \"b\""},
        {"x == 'a'", "false"},
        {"True", "true"},
        {"all([x > 1, pad])", "x > 1 and pad != 0"},
        {"x and pad or x > 3", "x != 0 and pad != 0 or x > 3"},
        {"x\n  ==\t1", "x == 1"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_translated(true, texts[i][0], texts[i][1]);
}

static void test_sizes_are_translated(void **state)
{
    (void)state;
    assert_translated(false, "(ProblemSize[0] + max(width) - 1) // x", "(problem_x + 15 - 1) // x");
    assert_translated(false, "min(width)", "3");
    assert_translated(false, "int(x / 2)", "(x / 2 < 0 ? ceil(x / 2) : floor(x / 2))");
    assert_translated(false, "4096", "4096");
}

static void test_what_cannot_be_said_in_our_expressions_is_refused(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"x & 3", "'x & 3' has an operator on bits"},
        {"~x", "expected a value before '~x'"},
        {"x && pad", "'&&' is not Python; write 'and'"},
        {"!x", "'!' is not Python; write 'not'"},
        {"blok > 1", "unknown name 'blok'"},
        {"kind", "'kind' is a string where a condition is needed"},
        {"kind > 'a'", "orders strings"},
        {"kind + 1 > 2", "'kind' is a string where a number is needed"},
        {"round(x) == 1", "'round(x)' cannot be translated"},
        {"x is 1", "expected an operator before 'is 1'"},
        {"x == 1 if pad", "expected 'else' at the end"},
        {"ProblemSize[1] > 2", "unknown name 'ProblemSize[1]'"},
        {"[x]", "'[x]' cannot be translated"},
        {"x == (1, 2)", "'(1, 2)' cannot be translated"},
        {"f'{x}' == 1", "expected an operator before"},
        {"", "expected a value at the end"},
    };
    struct words words = {0};
    const struct python_names names = {name_items, sizeof name_items / sizeof *name_items, &words};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct error error = {0};
        char *ours = NULL;
        assert_int_equal(python_translate_condition(texts[i][0], &names, &ours, &error),
                         ERROR_CONFIG);
        assert_null(ours);
        if (strstr(error.message, texts[i][1]) == NULL)
            fail_msg("'%s': %s", texts[i][0], error.message);
    }
    words_release(&words);
}

static void test_deep_and_long_texts_end_as_errors(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "(", "[", "-", "not ", "2**", "x[", "f(", "1 if 1 else ", "x<(x<", "x and (x or "};
    struct words words = {0};
    const struct python_names names = {name_items, sizeof name_items / sizeof *name_items, &words};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t length = strlen(parts[i]);
        char *text = calloc(length * 20000 + 8, 1);
        struct error error = {0};
        char *ours = NULL;
        assert_non_null(text);
        for (size_t j = 0; j < 20000; j++)
            memcpy(text + j * length, parts[i], length);
        assert_int_not_equal(python_translate_condition(text, &names, &ours, &error), 0);
        text[length * 40] = '\0';
        (void)python_translate_condition(text, &names, &ours, &error);
        free(ours);
        free(text);
    }
    words_release(&words);
}

/* --- words --- */

static void test_different_strings_become_different_words(void **state)
{
    (void)state;
    struct words words = {0};
    assert_string_equal(words_of(&words, "float4"), "float4");
    assert_string_equal(words_of(&words, "Row-Major"), "row_major");
    assert_string_equal(words_of(&words, "row_major"), "row_major_2");
    assert_string_equal(words_of(&words, "row major"), "row_major_3");
    assert_string_equal(words_of(&words, "Row-Major"), "row_major");
    assert_string_equal(words_of(&words, "8x8"), "v_8x8");
    assert_string_equal(words_of(&words, "true"), "true_2");
    assert_string_equal(words_of(&words, ""), "v_");
    words_release(&words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_of_values_have_the_values_of_python),
        cmocka_unit_test(test_lists_that_python_would_refuse_or_never_finish_are_refused),
        cmocka_unit_test(test_conditions_are_written_as_a_person_would),
        cmocka_unit_test(test_sizes_are_translated),
        cmocka_unit_test(test_what_cannot_be_said_in_our_expressions_is_refused),
        cmocka_unit_test(test_deep_and_long_texts_end_as_errors),
        cmocka_unit_test(test_different_strings_become_different_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
