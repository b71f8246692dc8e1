#include "template/expression.h"

#include "base/alloc.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int make_evaluator(void **state)
{
    *state = evaluator_new();
    return 0;
}

static int free_evaluator(void **state)
{
    evaluator_free(*state);
    return 0;
}

static struct expression *compile(struct evaluator *evaluator, const char *text)
{
    struct expression *expression;
    struct error error;
    if (expression_new(&expression, evaluator, text, "t.ini", 4, &error) != 0)
        fail_msg("'%s' is refused: %s", text, error.message);
    return expression;
}

/* Bindings that most tests use. */
static struct bindings names(void)
{
    struct bindings bindings = {0};
    bindings_set(&bindings, "n", value_integer(1000));
    bindings_set(&bindings, "block_size", value_integer(256));
    bindings_set(&bindings, "factor", value_real(2.5));
    bindings_set(&bindings, "finish", value_word("atomic"));
    bindings_set(&bindings, "flag", value_boolean(true));
    bindings_set(&bindings, "in", value_word("in"));
    bindings_set(&bindings, "largest", value_integer(INT64_MAX));
    bindings_set(&bindings, "least", value_integer(INT64_MIN));
    return bindings;
}

static void assert_value(void **state, const char *text, struct value expected)
{
    struct expression *expression = compile(*state, text);
    struct bindings bindings = names();
    struct scope scope = {&bindings, NULL};
    struct value value;
    struct error error;
    if (expression_value(expression, &scope, &value, &error) != 0)
        fail_msg("'%s' has no value: %s", text, error.message);
    if (!value_equal(value, expected)) {
        char buffer[VALUE_TEXT_BYTES];
        fail_msg("'%s' is %s", text, value_text(value, buffer));
    }
    bindings_release(&bindings);
    expression_free(expression);
}

static void assert_integer(void **state, const char *text, int64_t expected)
{
    assert_value(state, text, value_integer(expected));
}

static void assert_real(void **state, const char *text, double expected)
{
    assert_value(state, text, value_real(expected));
}

static void assert_boolean(void **state, const char *text, bool expected)
{
    assert_value(state, text, value_boolean(expected));
}

/* Refused when compiled; `message` is how the message begins. */
static void assert_refused(void **state, const char *text, const char *message)
{
    struct expression *expression = NULL;
    struct error error = {0};
    if (expression_new(&expression, *state, text, "t.ini", 4, &error) != ERROR_CONFIG)
        fail_msg("'%s' is accepted", text);
    assert_null(expression);
    assert_string_equal(error.file, "t.ini");
    assert_int_equal(error.line, 4);
    if (strncmp(error.message, message, strlen(message)) != 0)
        assert_string_equal(error.message, message);
}

/* Refused when evaluated; the message ends with `reason`. */
static void assert_fails(void **state, const char *text, const char *reason)
{
    struct expression *expression = compile(*state, text);
    struct bindings bindings = names();
    struct scope scope = {&bindings, NULL};
    struct value value;
    struct error error = {0};
    char message[512];
    if (expression_value(expression, &scope, &value, &error) != ERROR_CONFIG)
        fail_msg("'%s' has a value", text);
    assert_string_equal(error.file, "t.ini");
    assert_int_equal(error.line, 4);
    assert_true(snprintf(message, sizeof message, "cannot evaluate '%s': %s", text, reason) > 0);
    assert_string_equal(error.message, message);
    bindings_release(&bindings);
    expression_free(expression);
}

static void operators(void **state)
{
    assert_integer(state, "1 + 2 * 3", 7);
    assert_integer(state, "(1 + 2) * 3", 9);
    assert_integer(state, "7 // 2", 3);
    assert_integer(state, "-7 // 2", -4);
    assert_integer(state, "7 % 4", 3);
    assert_integer(state, "- - 3", 3);
    assert_real(state, "7 / 2", 3.5);
    assert_real(state, "2^10", 1024);
    assert_real(state, "2^3^2", 512);
    assert_real(state, "-2^2", -4);
    assert_real(state, "1e3 + .5", 1000.5);
    assert_real(state, "2 * factor", 5);
    assert_boolean(state, "1 < 2 and 2 <= 2", true);
    assert_boolean(state, "1 > 2 or 2 >= 3", false);
    assert_boolean(state, "1 == 1.0", true);
    assert_boolean(state, "not (n ~= 1000)", true);
    assert_boolean(state, "nil == false", false);
    assert_integer(state, "n*4+block_size", 4256);
}

static void words_and_choices(void **state)
{
    assert_boolean(state, "finish == \"atomic\"", true);
    assert_boolean(state, "finish == 'two_pass'", false);
    assert_boolean(state, "finish ~= \"atomic\"", false);
    assert_boolean(state, "finish == 1", false);
    assert_integer(state, "finish == \"atomic\" and 1 or 2", 1);
    assert_integer(state, "finish == \"lock\" and 1 or 2", 2);
    assert_value(state, "n > 1 and finish or 'none'", value_word("atomic"));
    assert_value(state, "(n % 2 == 0 and 'a' or 'b')", value_word("a"));
    assert_boolean(state, "yes", true);
    assert_boolean(state, "no", false);
    assert_boolean(state, "true and flag", true);
}

/* `in` is a keyword of Lua and the usual name of an input. */
static void a_buffer_may_be_called_in(void **state)
{
    assert_value(state, "in", value_word("in"));
    assert_value(state, "(n % 2 == 0 and in or finish)", value_word("in"));
    assert_boolean(state, "in == \"in\" and finish ~= 'in'", true);
    assert_boolean(state, "min(1, 2) == 1 and in == in", true);
    struct expression *expression = compile(*state, "in == \"in\"");
    assert_int_equal(expression_name_count(expression), 1);
    assert_string_equal(expression_name(expression, 0), "in");
    assert_string_equal(expression_text(expression), "in == \"in\"");
    expression_free(expression);
}

static void functions(void **state)
{
    assert_integer(state, "min(3, 1, 2)", 1);
    assert_integer(state, "max(3, 7, 2)", 7);
    assert_integer(state, "min(5)", 5);
    assert_real(state, "max(1, 2.5)", 2.5);
    assert_integer(state, "max(2, 1.5)", 2);
    assert_integer(state, "abs(-3)", 3);
    assert_integer(state, "abs(3)", 3);
    assert_real(state, "abs(-2.5)", 2.5);
    assert_integer(state, "floor(2.7)", 2);
    assert_integer(state, "floor(-2.1)", -3);
    assert_integer(state, "ceil(2.1)", 3);
    assert_integer(state, "ceil(-2.9)", -2);
    assert_integer(state, "floor(7)", 7);
    assert_integer(state, "ceil(n / 256)", 4);
    assert_real(state, "floor(1e300)", 1e300);
    assert_integer(state, "ceil_div(1000, 256)", 4);
    assert_integer(state, "ceil_div(1024, 256)", 4);
    assert_integer(state, "ceil_div(0, 256)", 0);
    assert_integer(state, "ceil_div(1, 256)", 1);
    assert_integer(state, "ceil_div(2^20, 2^10)", 1024);
    assert_integer(state, "ceil_div(largest, 1)", INT64_MAX);
    assert_integer(state, "ceil_div(largest, largest)", 1);
    assert_integer(state, "ceil_div(largest, 2)", (int64_t)1 << 62);
    assert_integer(state, "round_up(1000, 256)", 1024);
    assert_integer(state, "round_up(1024, 256)", 1024);
    assert_integer(state, "round_up(0, 8)", 0);
    assert_integer(state, "round_up(largest, 1)", INT64_MAX);
    assert_integer(state, "log2_floor(1)", 0);
    assert_integer(state, "log2_floor(1000)", 9);
    assert_integer(state, "log2_floor(1024)", 10);
    assert_integer(state, "log2_floor(largest)", 62);
    assert_integer(state, "log2_ceil(1)", 0);
    assert_integer(state, "log2_ceil(2)", 1);
    assert_integer(state, "log2_ceil(1000)", 10);
    assert_integer(state, "log2_ceil(1024)", 10);
    assert_integer(state, "log2_ceil(1025)", 11);
    assert_integer(state, "log2_ceil(largest)", 63);
    assert_integer(state, "max(1, min(ceil_div(n, block_size * 4), 132 * 2))", 1);
}

static void bad_arguments(void **state)
{
    assert_fails(state, "min()", "bad argument #1 to 'min' (number expected, got no value)");
    assert_fails(state, "min(1, finish)", "bad argument #2 to 'min' (number expected, got string)");
    assert_fails(state, "max(finish, 1)", "bad argument #1 to 'max' (number expected, got string)");
    assert_fails(state, "max(1, flag)", "bad argument #2 to 'max' (number expected, got boolean)");
    assert_fails(state, "min(1, nil)", "bad argument #2 to 'min' (number expected, got nil)");
    assert_fails(state, "abs(finish)", "bad argument #1 to 'abs' (number expected, got string)");
    assert_fails(state, "abs(least)", "bad argument #1 to 'abs' (does not fit in 64 bits)");
    assert_fails(state, "floor(flag)", "bad argument #1 to 'floor' (number expected, got boolean)");
    assert_fails(state, "ceil_div(1, 0)", "bad argument #2 to 'ceil_div' (must be above 0)");
    assert_fails(state, "ceil_div(1, -2)", "bad argument #2 to 'ceil_div' (must be above 0)");
    assert_fails(state, "ceil_div(-1, 2)", "bad argument #1 to 'ceil_div' (must not be negative)");
    assert_fails(state, "ceil_div(1.5, 2)",
                 "bad argument #1 to 'ceil_div' (number has no integer representation)");
    assert_fails(state, "round_up(5, 0)", "bad argument #2 to 'round_up' (must be above 0)");
    assert_fails(state, "round_up(largest, 2)", "round_up does not fit in 64 bits");
    assert_fails(state, "log2_floor(0)", "bad argument #1 to 'log2_floor' (must be above 0)");
    assert_fails(state, "log2_floor(-8)", "bad argument #1 to 'log2_floor' (must be above 0)");
    assert_fails(state, "log2_ceil(0)", "bad argument #1 to 'log2_ceil' (must be above 0)");
    assert_fails(state, "log2_ceil(2^63)",
                 "bad argument #1 to 'log2_ceil' (number has no integer representation)");
    assert_fails(state, "log2_floor(2, 3)", "takes 1 argument(s), not 2");
    assert_fails(state, "abs()", "takes 1 argument(s), not 0");
    assert_fails(state, "floor(1.5, 2)", "takes 1 argument(s), not 2");
    assert_fails(state, "ceil_div(1)", "takes 2 argument(s), not 1");
    assert_fails(state, "round_up(1, 2, 3)", "takes 2 argument(s), not 3");
}

static void operations_on_the_wrong_types(void **state)
{
    assert_fails(state, "1 // 0", "attempt to divide by zero");
    assert_fails(state, "n % 0", "attempt to perform 'n%0'");
    assert_fails(state, "finish + 1",
                 "attempt to perform arithmetic on a string value (local 'finish')");
    assert_fails(state, "n < finish", "attempt to compare number with string");
    assert_fails(state, "n(3)", "attempt to call a number value (local 'n')");
    assert_fails(state, "min", "it has no value");
    assert_fails(state, "nil", "it has no value");
    assert_fails(state, "flag and nil", "it has no value");
}

static void refused_tokens(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"a[1]", "unexpected character '['"},
        {"{1}", "unexpected character '{'"},
        {"a.b", "unexpected character '.'"},
        {"a..b", "unexpected character '.'"},
        {"...", "unexpected character '.'"},
        {"a:b()", "unexpected character ':'"},
        {"a = 1", "unexpected character '='"},
        {"a; b", "unexpected character ';'"},
        {"#a", "unexpected character '#'"},
        {"a & b", "unexpected character '&'"},
        {"a | b", "unexpected character '|'"},
        {"~a", "unexpected character '~'"},
        {"a << 1", "multiply or divide by a power of two for '<< or >>'"},
        {"a >> 1", "multiply or divide by a power of two for '<< or >>'"},
        {"a != b", "write '~=' for '!='"},
        {"a && b", "write 'and' for '&&'"},
        {"a || b", "write 'or' for '||'"},
        {"!a", "unexpected character '!'"},
        {"a -- b", "unexpected '--'"},
        {"1 --[[ x ]]", "unexpected '--'"},
        {"\"a\\n\"", "text that is no word at"},
        {"\"a b\"", "text that is no word at"},
        {"\"a", "text that is no word at"},
        {"\"a'", "text that is no word at"},
        {"\"\"", "text that is no word at"},
        {"finish == \"Atomic\"", "text that is no word at"},
        {"min(\"10\", \"9\")", "text that is no word at"},
        {"function() end", "keyword 'function'"},
        {"while true do end", "keyword 'while'"},
        {"return 1", "keyword 'return'"},
        {"local a", "keyword 'local'"},
        {"if a then b end", "keyword 'if'"},
        {"goto a", "keyword 'goto'"},
        {"repeat until a", "keyword 'repeat'"},
        {"for", "keyword 'for'"},
        {"_ENV", "names are lower-case, not '_ENV'"},
        {"N", "names are lower-case, not 'N'"},
        {"0x10", "malformed number at '0x10'"},
        {"10k", "malformed number at '10k'"},
        {"a\nb", "unexpected character"},
        {"a\x01", "unexpected character"},
        {"\xc3\xa9", "unexpected character"},
        {"$a", "unexpected character '$'"},
        {"@", "unexpected character '@'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(state, cases[i].text, cases[i].message);
}

static void refusals_are_told_whole(void **state)
{
    assert_refused(state, "n != 3",
                   "write '~=' for '!=' in expression 'n != 3'; README of kernel_templates lists "
                   "what an expression may contain");
    assert_refused(state, "1 +", "cannot parse expression '1 +': unexpected symbol near ')'");
    assert_refused(state, "", "expression is empty");
    assert_refused(state, " \t ", "expression is empty");
}

static void malformed(void **state)
{
    static const char *const texts[] = {"(1",  "1)",    "1 2",         "n n",    "* 2",   "min(",
                                        "1,",  "()",    "1..2",        "1e",     "3.4.5", "a and",
                                        "not", "in in", "n in finish", "\"a\"in"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_refused(state, texts[i], "cannot parse expression '");
}

static char *repeat(const char *before, const char *unit, size_t count, const char *after)
{
    char *text = alloc_zeroed(strlen(before) + strlen(unit) * count + strlen(after) + 1, 1);
    strcpy(text, before);
    for (size_t i = 0; i < count; i++)
        strcpy(text + strlen(before) + i * strlen(unit), unit);
    strcat(text, after);
    return text;
}

static void nesting_ends_at_64(void **state)
{
    char *open = repeat("", "(", 64, "1");
    char *text = repeat(open, ")", 64, "");
    assert_integer(state, text, 1);
    free(open);
    free(text);
    open = repeat("", "(", 65, "1");
    text = repeat(open, ")", 65, "");
    assert_refused(state, text, "too deeply nested '('");
    free(open);
    free(text);
    /* the depth, not their number */
    text = repeat("0", "+(1)", 100, "");
    assert_integer(state, text, 100);
    free(text);
}

/* What nests without parentheses is stopped by Lua's own limit, not by the C stack. */
static void nesting_of_operators(void **state)
{
    static const char *const units[] = {"not ", "- ", "2^"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        char *text = repeat("", units[i], 1000, "1");
        assert_refused(state, text, "cannot parse expression '");
        free(text);
    }
    char *text = repeat("1", " or 1", 800, "");
    assert_integer(state, text, 1);
    free(text);
}

static void texts_end_at_4096_bytes(void **state)
{
    char *text = repeat("1", "+1", 2047, " ");
    assert_int_equal(strlen(text), 4096);
    assert_integer(state, text, 2048);
    free(text);
    text = repeat("1", "+1", 2048, "");
    assert_refused(state, text, "expression is longer than 4096 bytes");
    free(text);
}

static void at_most_32_names(void **state)
{
    char text[512] = "0";
    for (size_t i = 0; i < 32; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "+x%zu+x%zu", i, i);
    struct expression *expression = compile(*state, text);
    assert_int_equal(expression_name_count(expression), 32);
    struct bindings bindings = {0};
    for (size_t i = 0; i < 32; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "x%zu", i);
        bindings_set(&bindings, name, value_integer((int64_t)i));
    }
    struct scope scope = {&bindings, NULL};
    struct error error;
    int64_t sum;
    assert_int_equal(expression_integer(expression, &scope, &sum, &error), 0);
    assert_int_equal(sum, 2 * 496);
    bindings_release(&bindings);
    expression_free(expression);
    strcat(text, "+x32");
    assert_refused(state, text, "too many names: at most 32, not also 'x32'");
}

static void names_have_at_most_63_letters(void **state)
{
    char *text = repeat("", "a", 63, "");
    expression_free(compile(*state, text));
    free(text);
    text = repeat("", "a", 64, "");
    assert_refused(state, text, "overlong name");
    free(text);
}

/* An evaluator that is full refuses more; freeing makes room again. */
static void memory_is_limited(void **state)
{
    enum { MOST = 100000 };
    struct expression **expressions = alloc_zeroed(MOST, sizeof *expressions);
    char *text = repeat("n", " + 1.5 * n", 100, "");
    struct error error = {0};
    size_t count = 0;
    while (count < MOST && expression_new(&expressions[count], *state, count % 2 == 0 ? text : "n",
                                          "t.ini", 4, &error) == 0)
        count++;
    assert_in_range(count, 100, MOST - 1);
    assert_non_null(strstr(error.message, "not enough memory"));
    for (size_t i = 0; i < count; i++)
        expression_free(expressions[i]);
    assert_integer(state, "n + 1", 1001);
    free(expressions);
    free(text);
}

/* The limit may be met anywhere in compiling, also where Lua only keeps what it compiled. */
static void memory_runs_out_with_small_expressions(void **state)
{
    enum { MOST = 200000 };
    struct expression **expressions = alloc_zeroed(MOST, sizeof *expressions);
    struct error error = {0};
    size_t count = 0;
    while (count < MOST &&
           expression_new(&expressions[count], *state, "1", "t.ini", 4, &error) == 0)
        count++;
    assert_in_range(count, 1000, MOST - 1);
    assert_non_null(strstr(error.message, "not enough memory"));
    for (size_t i = 0; i < count; i++)
        expression_free(expressions[i]);
    free(expressions);
}

static void evaluating_leaves_nothing_behind(void **state)
{
    struct expression *expression = compile(*state, "finish == 'atomic' and n * 1.5 or finish");
    struct bindings bindings = names();
    struct scope scope = {&bindings, NULL};
    struct error error;
    for (int i = 0; i < 200000; i++) {
        struct value value;
        assert_int_equal(expression_value(expression, &scope, &value, &error), 0);
    }
    struct expression *failing = compile(*state, "n + finish");
    for (int i = 0; i < 50000; i++) {
        struct value value;
        assert_int_equal(expression_value(failing, &scope, &value, &error), ERROR_CONFIG);
    }
    assert_non_null(strstr(error.message, "arithmetic on a string value"));
    bindings_release(&bindings);
    expression_free(expression);
    expression_free(failing);
}

static void names_each_once(void **state)
{
    struct expression *expression =
        compile(*state, "min(n, block_size) + n * ceil_div(n, sm_count) > 0 and yes or not no");
    assert_int_equal(expression_name_count(expression), 3);
    assert_string_equal(expression_name(expression, 0), "n");
    assert_string_equal(expression_name(expression, 1), "block_size");
    assert_string_equal(expression_name(expression, 2), "sm_count");
    assert_true(expression_uses(expression, "sm_count"));
    assert_false(expression_uses(expression, "sm"));
    assert_false(expression_uses(expression, "min"));
    expression_free(expression);
}

static void unknown_names(void **state)
{
    static const char *const known[] = {"block_size", "num_load", "n", NULL};
    struct error error;
    struct expression *expression = compile(*state, "block_size * num_load + n");
    assert_int_equal(expression_check_names(expression, known, &error), 0);
    expression_free(expression);
    expression = compile(*state, "block_size * num_laod + x");
    assert_int_equal(expression_check_names(expression, known, &error), ERROR_CONFIG);
    assert_string_equal(error.message, "unknown name 'num_laod'; did you mean 'num_load'?");
    assert_string_equal(error.file, "t.ini");
    assert_int_equal(error.line, 4);
    expression_free(expression);
}

static void inner_scopes_come_first(void **state)
{
    struct bindings inner = {0};
    struct bindings outer = {0};
    bindings_set(&inner, "a", value_integer(1));
    bindings_set(&outer, "a", value_integer(2));
    bindings_set(&outer, "b", value_integer(3));
    struct scope outside = {&outer, NULL};
    struct scope scope = {&inner, &outside};
    struct expression *expression = compile(*state, "10 * a + b");
    struct error error;
    int64_t integer;
    assert_int_equal(expression_integer(expression, &scope, &integer, &error), 0);
    assert_int_equal(integer, 13);
    assert_int_equal(expression_integer(expression, &outside, &integer, &error), 0);
    assert_int_equal(integer, 23);
    expression_free(expression);
    expression = compile(*state, "a + c");
    assert_int_equal(expression_integer(expression, &scope, &integer, &error), ERROR_CONFIG);
    assert_string_equal(error.message, "'c' has no value here, in expression 'a + c'");
    assert_int_equal(error.line, 4);
    expression_free(expression);
    bindings_release(&inner);
    bindings_release(&outer);
}

static int integer_of(void **state, const char *text, int64_t *integer, struct error *error)
{
    struct expression *expression = compile(*state, text);
    struct bindings bindings = names();
    struct scope scope = {&bindings, NULL};
    int status = expression_integer(expression, &scope, integer, error);
    bindings_release(&bindings);
    expression_free(expression);
    return status;
}

static void integers(void **state)
{
    struct error error;
    int64_t integer;
    assert_int_equal(integer_of(state, "2^20", &integer, &error), 0);
    assert_int_equal(integer, 1 << 20);
    assert_int_equal(integer_of(state, "-2^63", &integer, &error), 0);
    assert_true(integer == INT64_MIN);
    assert_int_equal(integer_of(state, "n / 8", &integer, &error), 0);
    assert_int_equal(integer, 125);
    static const char *const refused[] = {"n / 3", "2^63", "1 / 0", "0 / 0", "finish", "flag"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char message[256];
        assert_int_equal(integer_of(state, refused[i], &integer, &error), ERROR_CONFIG);
        (void)snprintf(message, sizeof message,
                       "cannot evaluate '%s': it is not a whole number; // divides whole numbers, "
                       "ceil_div(a, b) rounds up",
                       refused[i]);
        assert_string_equal(error.message, message);
    }
}

static void reals(void **state)
{
    struct bindings bindings = names();
    struct scope scope = {&bindings, NULL};
    struct error error;
    double real;
    struct expression *expression = compile(*state, "n");
    assert_int_equal(expression_real(expression, &scope, &real, &error), 0);
    assert_true(real >= 1000 && real <= 1000);
    expression_free(expression);
    expression = compile(*state, "1e-5");
    assert_int_equal(expression_real(expression, &scope, &real, &error), 0);
    assert_true(fabs(real - 1e-5) < 1e-20);
    expression_free(expression);
    expression = compile(*state, "finish");
    assert_int_equal(expression_real(expression, &scope, &real, &error), ERROR_CONFIG);
    assert_string_equal(error.message, "cannot evaluate 'finish': it is not a number");
    expression_free(expression);
    bindings_release(&bindings);
}

static void booleans(void **state)
{
    struct bindings bindings = names();
    bindings_set(&bindings, "cooperative", value_word("yes"));
    bindings_set(&bindings, "resident", value_word("no"));
    struct scope scope = {&bindings, NULL};
    struct error error;
    static const struct {
        const char *text;
        bool expected;
    } cases[] = {
        {"n > 3", true}, {"yes", true}, {"no", false}, {"cooperative", true}, {"resident", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool boolean = !cases[i].expected;
        struct expression *expression = compile(*state, cases[i].text);
        assert_int_equal(expression_boolean(expression, &scope, &boolean, &error), 0);
        assert_int_equal(boolean, cases[i].expected);
        expression_free(expression);
    }
    static const char *const refused[] = {"n", "finish", "factor"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char message[128];
        bool boolean;
        struct expression *expression = compile(*state, refused[i]);
        assert_int_equal(expression_boolean(expression, &scope, &boolean, &error), ERROR_CONFIG);
        (void)snprintf(
            message, sizeof message,
            "cannot evaluate '%s': it is not true or false; compare with ==", refused[i]);
        assert_string_equal(error.message, message);
        expression_free(expression);
    }
    bindings_release(&bindings);
}

static void the_fast_way(void **state)
{
    struct expression *expression = compile(*state, "a * b <= 64 and w == 'x'");
    struct value a = value_integer(8);
    struct value b = value_integer(8);
    struct value w = value_word("x");
    const struct value *values[] = {&a, &b, &w};
    struct error error;
    bool boolean = false;
    assert_int_equal(expression_boolean_of(expression, values, &boolean, &error), 0);
    assert_true(boolean);
    b = value_integer(9);
    assert_int_equal(expression_boolean_of(expression, values, &boolean, &error), 0);
    assert_false(boolean);
    values[1] = NULL;
    assert_int_equal(expression_boolean_of(expression, values, &boolean, &error), ERROR_CONFIG);
    assert_string_equal(error.message,
                        "'b' has no value here, in expression 'a * b <= 64 and w == 'x''");
    expression_free(expression);
}

/* -- the fast way against Lua --------------------------------------------------------------------
 */

static uint32_t random_below(uint64_t *random, uint32_t bound)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*random >> 33) % bound;
}

static void append(char *text, const char *part)
{
    strcat(text, part); /* 1 KiB is more than four levels take */
}

/* Any expression of a few levels: right or wrong, of any kind. */
static void append_random(char *text, uint64_t *random, int levels)
{
    static const char *const operands[] = {
        "n",   "block_size", "factor", "finish", "flag", "in",    "largest", "least", "0",
        "1",   "2",          "3",      "-1",     "0.5",  "1e300", "10",      "7",     "\"atomic\"",
        "yes", "false",      "2^53",   "1000",   "'in'", "2.0",   "1000.0",  "nil",   "abs(n)",
    };
    static const char *const operators[] = {" + ",  " - ",  " * ", " / ",   " // ", " % ",  " ^ ",
                                            " == ", " ~= ", " < ", " <= ",  " > ",  " >= ", " and ",
                                            " or ", " + ",  " < ", " and ", " == "};
    uint32_t choice = levels == 0 ? 0 : random_below(random, 10);
    if (choice == 0) {
        append(text, operands[random_below(random, sizeof operands / sizeof *operands)]);
    } else if (choice == 1) {
        append(text, random_below(random, 2) == 0 ? "not " : "- ");
        append_random(text, random, levels - 1);
    } else {
        bool nested = random_below(random, 3) == 0;
        append(text, nested ? "(" : "");
        append_random(text, random, levels - 1);
        append(text, operators[random_below(random, sizeof operators / sizeof *operators)]);
        append_random(text, random, levels - 1);
        append(text, nested ? ")" : "");
    }
}

/* The same truth, or the same message. Returns whether there is a truth. */
static bool assert_same_both_ways(struct evaluator *evaluator, const char *text,
                                  const struct bindings *bindings)
{
    struct expression *expression = compile(evaluator, text);
    struct scope scope = {bindings, NULL};
    const struct value *values[32];
    struct error slow_error = {0};
    struct error fast_error = {0};
    bool slow = false;
    bool fast = false;
    for (size_t i = 0; i < expression_name_count(expression); i++)
        values[i] = bindings_find(bindings, expression_name(expression, i));
    int slow_status = expression_boolean(expression, &scope, &slow, &slow_error);
    int fast_status = expression_boolean_of(expression, values, &fast, &fast_error);
    if (slow_status != fast_status || slow != fast)
        fail_msg("'%s' is %d (%d), and the fast way %d (%d)", text, slow, slow_status, fast,
                 fast_status);
    assert_string_equal(fast_error.message, slow_error.message);
    expression_free(expression);
    return slow_status == 0;
}

static void the_fast_way_agrees_with_lua(void **state)
{
    static const char *const chosen[] = {
        "1 < 2 == true",
        "largest + 1 == least",
        "least // -1 == least",
        "-7 // 2 == -4 and -7 % 2 == 1 and 7 % -2 == -1",
        "7 // 0.0 > largest",
        "0.0 / 0 ~= 0.0 / 0",
        "not (0.0 / 0 >= 0)",
        "2^53 == 9007199254740993", /* which no double is */
        "largest < 2^63",
        "9223372036854775808 > largest",
        "- 2 ^ 2 == -4.0 and 2 ^ 3 ^ 2 == 512",
        "1 == 1.0 and 1 ~= \"one\" and flag ~= 1",
        "0 and true",
        "finish == \"atomic\" and n or false",
        "flag or n // 0",
        "flag and n // 0 == 0",
        "n % 0 == 1",
        "finish < \"two\"",
        "n < finish",
        "in == 'in' and not (in == \"inn\")",
        "((n > 1 or flag) and (n < 1 or not flag)) == false",
        ".5 < 1 and 5e-1 == .5 and 1e2 == 100",
    };
    struct bindings bindings = names();
    uint64_t random = 3;
    int truths = 0;
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
        (void)assert_same_both_ways(*state, chosen[i], &bindings);
    for (int i = 0; i < 20000; i++) {
        char text[1024] = "";
        append_random(text, &random, 1 + i % 4);
        truths += assert_same_both_ways(*state, text, &bindings);
    }
    assert_true(truths > 2000);
    bindings_release(&bindings);
}

static void nothing_to_free(void **state)
{
    (void)state;
    expression_free(NULL);
    evaluator_free(NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_evaluator, free_evaluator)
    const struct CMUnitTest tests[] = {
        TEST(operators),
        TEST(words_and_choices),
        TEST(a_buffer_may_be_called_in),
        TEST(functions),
        TEST(bad_arguments),
        TEST(operations_on_the_wrong_types),
        TEST(refused_tokens),
        TEST(refusals_are_told_whole),
        TEST(malformed),
        TEST(nesting_ends_at_64),
        TEST(nesting_of_operators),
        TEST(texts_end_at_4096_bytes),
        TEST(at_most_32_names),
        TEST(names_have_at_most_63_letters),
        TEST(memory_is_limited),
        TEST(memory_runs_out_with_small_expressions),
        TEST(evaluating_leaves_nothing_behind),
        TEST(names_each_once),
        TEST(unknown_names),
        TEST(inner_scopes_come_first),
        TEST(integers),
        TEST(reals),
        TEST(booleans),
        TEST(the_fast_way),
        TEST(the_fast_way_agrees_with_lua),
        cmocka_unit_test(nothing_to_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
