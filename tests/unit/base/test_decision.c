/* Expressions of covers: the same values as in templates. */
#include "base/decision.h"

#include "base/decision_code.h"
#include "template/value.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { STEPS = 1500 };

/* n is 1000 and not known when compiling, `word` is "naive"; `size` is 8 for configuration 1
 * and 3 for 2; `work` is a figure. */
static struct decision_name find(const void *user, const char *name, size_t length,
                                 size_t configuration, size_t figure)
{
    (void)user;
    if (length == 1 && *name == 'n')
        return (struct decision_name){.kind = DECISION_IS_VALUE, .value = 0};
    if (length == 4 && strncmp(name, "word", 4) == 0)
        return (struct decision_name){.kind = DECISION_IS_WORD, .text = "naive"};
    if (length == 4 && strncmp(name, "size", 4) == 0)
        return (struct decision_name){.kind = DECISION_IS_NUMBER,
                                      .number = configuration == 0 ? 8 : 3};
    if (length == 4 && strncmp(name, "work", 4) == 0 && figure > 0)
        return (struct decision_name){.kind = DECISION_IS_FIGURE, .text = "n * size", .figure = 0};
    return length == 4 && strncmp(name, "huge", 4) == 0
               ? (struct decision_name){.kind = DECISION_IS_FIGURE,
                                        .text = "huge + huge",
                                        .figure = 1}
               : (struct decision_name){0};
}

static const struct decision_scope scope = {find, NULL, 2};

static bool compile(struct decision_program *program, const char *text, enum decision_type type,
                    char message[DECISION_MESSAGE_BYTES])
{
    static struct decision_step steps[STEPS];
    *program = (struct decision_program){.steps = steps, .room = STEPS};
    return decision_compile(program, &scope, text, 0, type, message);
}

static struct decision_instruction instructions[STEPS];
static double constants[STEPS];
static struct decision_draft drafts[STEPS];

/* The code of a whole program, for n alone. */
static struct decision_code code_of(const struct decision_program *program)
{
    struct decision_code code = {
        .instructions = instructions, .constants = constants, .drafts = drafts};
    decision_code_begin(&code, program->steps, program->count, 1);
    return code;
}

/* Steps and code have the same value, to the bit. */
static double value_of(const char *text, enum decision_type type)
{
    struct decision_program program;
    char message[DECISION_MESSAGE_BYTES];
    const double values[] = {1000};
    double kept[DECISION_KEPT];
    double places[1 + STEPS];
    if (!compile(&program, text, type, message))
        fail_msg("'%s': %s", text, message);
    double value = decision_evaluate(program.steps, program.count, values, kept);
    struct decision_code code = code_of(&program);
    struct decision_code_part part = decision_code_add(&code, program.steps, program.count);
    struct decision_code_part *parts[] = {&part};
    decision_code_finish(&code, parts, 1);
    decision_code_start(&code, values, places);
    double again = decision_code_evaluate(&code, &part, places);
    if (isnan(value) ? !isnan(again) : !(fabs(again - value) <= 0))
        fail_msg("'%s': %g without a stack, %g with one", text, again, value);
    return value;
}

static const char *const numbers[] = {
    "1 + 2 * 3",
    "(1 + 2) * 3",
    "7 // 2",
    "-7 // 2",
    "-7 % 4",
    "7 / 2",
    "2 - 3 - 4",
    "2^10 + n",
    "-n",
    "0.5 * n",
    "1e3 - n",
    "min(n, 3, 7)",
    "max(3, n, 7) + floor(2.5) + ceil(2.5)",
    "ceil_div(n, 7)",
    "ceil_div(n, size * 4) * 2",
    "n > 5 ? 1 : 2",
    "n > 5 and 3 or 4",
    "n < 5 and 3 or 4",
    "n < 5 and 3 or n < 10 and 5 or 6",
    "word == \"naive\" ? n : 16",
    "word != \"naive\" and 3 or size",
    "(n > 5 ? 2 : 3) * n",
    "max(1, min(ceil_div(n, size * 4), floor(132 * (size > 0 and size or 7) * 0.5)))",
};

static const char *const conditions[] = {
    "n < 1000",
    "n <= 1000",
    "n >= 1000 and not (n > 1000)",
    "n == 1000 or n == 3",
    "!(n == 1000) || n ~= 3",
    "n % 7 == 6 && true",
    "word == \"naive\"",
    "n > 0 ? n < 0 : n > 0",
};

/* As templates evaluate them. */
static double template_value(const char *text, bool is_condition)
{
    struct bindings bindings = {0};
    struct expression *expression;
    struct error error;
    struct value value = {0};
    const struct scope names = {&bindings, NULL};
    bindings_set(&bindings, "n", value_integer(1000));
    bindings_set(&bindings, "size", value_integer(8));
    bindings_set(&bindings, "word", value_word("naive"));
    if (expression_new(&expression, text, "x", 1, &error) != 0)
        fail_msg("'%s': %s", text, error.message);
    if (expression_value(expression, &names, &value, &error) != 0)
        fail_msg("'%s': %s", text, error.message);
    assert_int_equal(value.kind == VALUE_BOOLEAN, is_condition);
    expression_free(expression);
    bindings_release(&bindings);
    return value.kind == VALUE_BOOLEAN   ? (double)value.as.boolean
           : value.kind == VALUE_INTEGER ? (double)value.as.integer
                                         : value.as.real;
}

static void values_are_those_of_templates(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (fabs(value_of(numbers[i], DECISION_NUMBER) - template_value(numbers[i], false)) > 0)
            fail_msg("'%s' is %g", numbers[i], value_of(numbers[i], DECISION_NUMBER));
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++)
        if (fabs(value_of(conditions[i], DECISION_CONDITION) -
                 template_value(conditions[i], true)) > 0)
            fail_msg("'%s'", conditions[i]);
}

static void of_alternatives_that_are_known_one_is_left(void **state)
{
    struct decision_program program;
    char message[DECISION_MESSAGE_BYTES];
    (void)state;
    assert_true(compile(&program, "size == 8 ? n : n * n * n", DECISION_NUMBER, message));
    assert_int_equal(program.count, 1);
    assert_true(compile(&program, "size == 7 and n or n + 1", DECISION_NUMBER, message));
    assert_int_equal(program.count, 3);
    assert_true(fabs(value_of("size == 7 and n or n + 1", DECISION_NUMBER) - 1001) <= 0);
    /* a figure in the other one may be needed later */
    assert_true(fabs(value_of("(size == 8 ? 1 : work) + work", DECISION_NUMBER) - 8001) <= 0);
}

static void a_figure_is_computed_once(void **state)
{
    struct decision_program program;
    char message[DECISION_MESSAGE_BYTES];
    const double values[] = {1000};
    double kept[DECISION_KEPT];
    (void)state;
    assert_true(compile(&program, "work > 5", DECISION_CONDITION, message));
    size_t first = program.count;
    assert_true(decision_compile(&program, &scope, "work + work", 0, DECISION_NUMBER, message));
    assert_int_equal(program.count - first, 3);
    assert_true(decision_evaluate(program.steps, first, values, kept) > 0);
    assert_true(fabs(decision_evaluate(program.steps + first, program.count - first, values, kept) -
                     16000) <= 0);
    /* of another configuration, it is another figure; and after forgetting, it is computed again */
    assert_true(fabs(value_of("work(1) + work(2) + work(1)", DECISION_NUMBER) - 19000) <= 0);
    decision_forget(&program);
    size_t second = program.count;
    assert_true(decision_compile(&program, &scope, "work", 0, DECISION_NUMBER, message));
    assert_true(
        fabs(decision_evaluate(program.steps + second, program.count - second, values, kept) -
             8000) <= 0);
}

/* The instructions of expressions that are evaluated one after another; the last one's value. */
static size_t count_instructions(const char *const *texts, size_t count, double *value)
{
    struct decision_program program;
    struct decision_code code;
    char message[DECISION_MESSAGE_BYTES];
    struct decision_code_part parts[4];
    struct decision_code_part *all[4];
    size_t ends[4];
    const double values[] = {1000};
    double places[1 + STEPS];
    assert_true(compile(&program, texts[0], DECISION_NUMBER, message));
    ends[0] = program.count;
    for (size_t i = 1; i < count; i++) {
        assert_true(decision_compile(&program, &scope, texts[i], 0, DECISION_NUMBER, message));
        ends[i] = program.count;
    }
    code = code_of(&program);
    for (size_t i = 0; i < count; i++) {
        size_t first = i > 0 ? ends[i - 1] : 0;
        parts[i] = decision_code_add(&code, program.steps + first, ends[i] - first);
        all[i] = &parts[i];
    }
    decision_code_finish(&code, all, count);
    decision_code_start(&code, values, places);
    for (size_t i = 0; i < count; i++)
        *value = decision_code_evaluate(&code, &parts[i], places);
    return code.count;
}

static void what_expressions_have_in_common_a_look_up_computes_once(void **state)
{
    (void)state;
    static const struct {
        const char *texts[3];
        size_t count, instructions;
        double value;
    } cases[] = {
        {{"n % 7 + min(n % 7, 3)"}, 1, 3, 9},
        {{"n % 7", "ceil(n / 3) + n % 7"}, 2, 4, 340},
        {{"n * 2 + 3"}, 1, 1, 2003},          /* a product and a sum in one */
        {{"n * 2", "n * 2 + 3"}, 2, 2, 2003}, /* but not a product that was needed before */
        {{"(n * 2) / (n * 2 + 3)"}, 1, 3, 2000. / 2003},
        {{"work", "work + n", "work"}, 3, 2, 8000},
        {{"n * 1 / 1 + n"}, 1, 1, 2000},
        {{"min(n * 2, 2 * n)"}, 1, 2, 2000}, /* in either order */
        {{"2 * n * n * 3"}, 1, 2, 6e6},
        {{"n % 7 + n + (n % 3 + 5)"}, 1, 4, 1012}, /* sums, too */
        {{"min(n % 7, n % 11, n % 13)"}, 1, 4, 6},
        {{"max(n % 7, 3 * n)"}, 1, 2, 3000},
        {{"max(3 * n, n % 7)"}, 1, 3, 3000}, /* which of the two it is counts if one is not known */
        {{"ceil_div(n, n % 7 * 3)"}, 1, 2, 56},
        {{"16 * ceil_div(n, 7) - ceil_div(n, 7) * n"}, 1, 4, -140712},
        {{"16 * ceil_div(n, 7) - ceil_div(n, 9) * n"}, 1, 3, -109712},
        /* what a known alternative leaves out, unless something else needs it */
        {{"(size == 8 ? n : work % 9) + 1"}, 1, 1, 1001},
        {{"(size == 8 ? n : work % 9) + 1", "work % 9"}, 2, 3, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = 0;
        assert_int_equal(count_instructions(cases[i].texts, cases[i].count, &value),
                         cases[i].instructions);
        assert_true(fabs(value - cases[i].value) <= 0);
    }
}

/* More than a look-up does at a time. */
static void the_same_operation_may_follow_itself_hundreds_of_times(void **state)
{
    (void)state;
    enum { QUOTIENTS = 300 };
    static char text[16 * QUOTIENTS];
    double sum = 0;
    for (size_t i = 1; i <= QUOTIENTS; i++) {
        char term[32];
        (void)snprintf(term, sizeof term, "%sn // %zu", i > 1 ? " + " : "", i);
        (void)strncat(text, term, sizeof text - strlen(text) - 1);
        sum += floor(1000. / (double)i);
    }
    assert_true(fabs(value_of(text, DECISION_NUMBER) - sum) <= 0);
}

static void figures_are_those_of_a_configuration(void **state)
{
    (void)state;
    assert_true(fabs(value_of("work", DECISION_NUMBER) - 8000) <= 0);
    assert_true(fabs(value_of("work(1) + work(2)", DECISION_NUMBER) - 11000) <= 0);
}

static void what_is_known_is_computed_once(void **state)
{
    (void)state;
    struct decision_program program;
    char message[DECISION_MESSAGE_BYTES];
    assert_true(compile(&program, "n < size * (2 + 3) - 2^10", DECISION_CONDITION, message));
    assert_int_equal(program.count, 3);
}

static void what_cannot_be_computed_is_never_less_or_greater(void **state)
{
    (void)state;
    assert_true(value_of("(n - n) / (n - n) < 1", DECISION_CONDITION) <= 0);
    assert_true(value_of("(n - n) / (n - n) >= 1", DECISION_CONDITION) <= 0);
    assert_true(value_of("0 / 0 == 0 / 0", DECISION_CONDITION) <= 0);
    assert_true(value_of("0 / 0 != 1", DECISION_CONDITION) > 0);
    assert_true(isnan(value_of("n * (0 / 0)", DECISION_NUMBER)));
    assert_true(isnan(value_of("max(1, n * (0 / 0))", DECISION_NUMBER)));
    assert_true(fabs(value_of("max(n * (0 / 0), 1)", DECISION_NUMBER) - 1) <= 0);
    assert_true(fabs(value_of("min(n, 0 / 0, 1)", DECISION_NUMBER) - 1) <= 0);
    assert_true(isnan(value_of("min(n, 1, 0 / 0)", DECISION_NUMBER)));
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "it ends too early"},
        {"n <", "it ends too early"},
        {"n < m", "unknown name 'm'"},
        {"n < work(3)", "'3)' is not the number of a configuration"},
        {"n < work(0)", "'0)' is not the number of a configuration"},
        {"n", "a condition is needed at the end"},
        {"n < 3 < 4", "comparisons do not chain; write a < b and b < c"},
        {"n and n < 3", "a condition is needed before 'n < 3'"},
        {"n < 3 and n", "a number is not a condition; write x != 0 for x"},
        {"word < \"b\"", "words can only be compared with == and !="},
        {"word == 3", "a word is compared with a number"},
        {"word == \"b", "a word lacks its closing quote"},
        {"min(3) < 4", "min() takes 2 numbers or more"},
        {"ceil_div(3, 4, 5) < 4", "ceil_div() takes 2 numbers"},
        {"(n < 3", "')' is missing at the end"},
        {"n < 3)", "')' is not expected"},
        {"n < 1.2.3", "'1.2.3' is not a number"},
        {"n > 3 ? 1 : n < 2", "the two sides of ':' are not of one kind"},
        {"n < huge", "it is nested too deeply"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct decision_program program;
        char message[DECISION_MESSAGE_BYTES];
        assert_false(compile(&program, cases[i].text, DECISION_CONDITION, message));
        if (strcmp(message, cases[i].message) != 0)
            fail_msg("'%s': '%s' instead of '%s'", cases[i].text, message, cases[i].message);
    }
}

static void lengths_are_limited(void **state)
{
    (void)state;
    static char text[1 << 15];
    struct decision_program program;
    char message[DECISION_MESSAGE_BYTES];
    memset(text, '(', 1000);
    assert_false(compile(&program, text, DECISION_NUMBER, message));
    assert_string_equal(message, "it is nested too deeply");
    memset(text, '-', 1000);
    assert_false(compile(&program, text, DECISION_NUMBER, message));
    assert_string_equal(message, "it is nested too deeply");
    text[0] = '\0';
    for (size_t i = 0; i < STEPS; i++)
        (void)strncat(text, "n+", sizeof text - strlen(text) - 1);
    (void)strncat(text, "n", sizeof text - strlen(text) - 1);
    assert_false(compile(&program, text, DECISION_NUMBER, message));
    assert_string_equal(message, "it is too long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_templates),
        cmocka_unit_test(figures_are_those_of_a_configuration),
        cmocka_unit_test(of_alternatives_that_are_known_one_is_left),
        cmocka_unit_test(a_figure_is_computed_once),
        cmocka_unit_test(what_expressions_have_in_common_a_look_up_computes_once),
        cmocka_unit_test(the_same_operation_may_follow_itself_hundreds_of_times),
        cmocka_unit_test(what_is_known_is_computed_once),
        cmocka_unit_test(what_cannot_be_computed_is_never_less_or_greater),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(lengths_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
