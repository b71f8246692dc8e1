#include "template/value.h"

#include "base/alloc.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/comma_locale.h"

static struct expression *compile(const char *text)
{
    struct expression *expression;
    struct error error;
    if (expression_new(&expression, text, "t.ini", 4, &error) != 0)
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

static void assert_value(const char *text, struct value expected)
{
    struct expression *expression = compile(text);
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

static void assert_integer(const char *text, int64_t expected)
{
    assert_value(text, value_integer(expected));
}

static void assert_real(const char *text, double expected)
{
    assert_value(text, value_real(expected));
}

static void assert_boolean(const char *text, bool expected)
{
    assert_value(text, value_boolean(expected));
}

/* Refused when compiled, with the whole message. */
static void assert_message(const char *text, const char *message)
{
    struct expression *expression = NULL;
    struct error error = {0};
    if (expression_new(&expression, text, "t.ini", 4, &error) != ERROR_CONFIG)
        fail_msg("'%s' is accepted", text);
    assert_null(expression);
    assert_string_equal(error.file, "t.ini");
    assert_int_equal(error.line, 4);
    assert_string_equal(error.message, message);
}

/* Refused when compiled, for this reason. */
static void assert_refused(const char *text, const char *reason)
{
    char *message = alloc_format("cannot parse expression '%s': %s", text, reason);
    if (strlen(message) > 1535)
        message[1535] = '\0'; /* as struct error cuts it */
    assert_message(text, message);
    free(message);
}

/* The message is this, or this and the values of the names. */
static void assert_reason(const struct error *error, const char *message)
{
    char *actual = alloc_string(error->message);
    size_t length = strlen(message);
    if (strlen(actual) > length && strncmp(actual + length, " (", 2) == 0 &&
        strstr(actual + length, " = ") != NULL)
        actual[length] = '\0';
    assert_string_equal(actual, message);
    free(actual);
}

/* Refused when evaluated, for this reason. */
static void assert_fails(const char *text, const char *reason)
{
    struct expression *expression = compile(text);
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
    assert_reason(&error, message);
    bindings_release(&bindings);
    expression_free(expression);
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

static void operators(void **state)
{
    (void)state;
    assert_integer("1 + 2 * 3", 7);
    assert_integer("(1 + 2) * 3", 9);
    assert_integer("7 // 2", 3);
    assert_integer("-7 // 2", -4);
    assert_integer("7 % 4", 3);
    assert_integer("- - 3", 3);
    assert_real("7 / 2", 3.5);
    assert_integer("2^10", 1024);
    assert_integer("2^3^2", 512);
    assert_integer("-2^2", -4);
    assert_integer("2^53 + 1", 9007199254740993);
    assert_integer("(-3)^39", -4052555153018976267);
    assert_integer("(-1)^9223372036854775807", -1);
    assert_real("2^-1", 0.5);
    assert_real("2^63", 0x1p63); /* which does not fit in 64 bits */
    assert_real("2.0^2", 4);
    assert_real("1e3 + .5", 1000.5);
    assert_real("2 * factor", 5);
    assert_boolean("1 < 2 and 2 <= 2", true);
    assert_boolean("1 > 2 or 2 >= 3", false);
    assert_boolean("1 == 1.0", true);
    assert_boolean("not (n ~= 1000)", true);
    assert_integer("n*4+block_size", 4256);
}

static void words_and_choices(void **state)
{
    (void)state;
    assert_boolean("finish == \"atomic\"", true);
    assert_boolean("finish == 'two_pass'", false);
    assert_boolean("finish ~= \"atomic\"", false);
    assert_boolean("finish == 1", false);
    assert_integer("finish == \"atomic\" and 1 or 2", 1);
    assert_integer("finish == \"lock\" and 1 or 2", 2);
    assert_value("n > 1 and finish or 'none'", value_word("atomic"));
    assert_value("(n % 2 == 0 and 'a' or 'b')", value_word("a"));
    assert_boolean("yes", true);
    assert_boolean("no", false);
    assert_boolean("true and flag", true);
}

/* `in` is a keyword of Lua and the usual name of an input. */
static void a_buffer_may_be_called_in(void **state)
{
    (void)state;
    assert_value("in", value_word("in"));
    assert_value("(n % 2 == 0 and in or finish)", value_word("in"));
    assert_boolean("in == \"in\" and finish ~= 'in'", true);
    assert_boolean("min(1, 2) == 1 and in == in", true);
    struct expression *expression = compile("in == \"in\"");
    assert_int_equal(expression_name_count(expression), 1);
    assert_string_equal(expression_name(expression, 0), "in");
    assert_string_equal(expression_text(expression), "in == \"in\"");
    expression_free(expression);
}

static void functions(void **state)
{
    (void)state;
    assert_integer("min(3, 1, 2)", 1);
    assert_integer("max(3, 7, 2)", 7);
    assert_integer("min(5)", 5);
    assert_real("max(1, 2.5)", 2.5);
    assert_integer("max(2, 1.5)", 2);
    assert_integer("abs(-3)", 3);
    assert_integer("abs(3)", 3);
    assert_real("abs(-2.5)", 2.5);
    assert_integer("floor(2.7)", 2);
    assert_integer("floor(-2.1)", -3);
    assert_integer("ceil(2.1)", 3);
    assert_integer("ceil(-2.9)", -2);
    assert_integer("floor(7)", 7);
    assert_integer("ceil(n / 256)", 4);
    assert_real("floor(1e300)", 1e300);
    assert_integer("ceil_div(1000, 256)", 4);
    assert_integer("ceil_div(1024, 256)", 4);
    assert_integer("ceil_div(0, 256)", 0);
    assert_integer("ceil_div(1, 256)", 1);
    assert_integer("ceil_div(2^20, 2^10)", 1024);
    assert_integer("ceil_div(largest, 1)", INT64_MAX);
    assert_integer("ceil_div(largest, largest)", 1);
    assert_integer("ceil_div(largest, 2)", (int64_t)1 << 62);
    assert_integer("round_up(1000, 256)", 1024);
    assert_integer("round_up(1024, 256)", 1024);
    assert_integer("round_up(0, 8)", 0);
    assert_integer("round_up(largest, 1)", INT64_MAX);
    assert_integer("log2_floor(1)", 0);
    assert_integer("log2_floor(1000)", 9);
    assert_integer("log2_floor(1024)", 10);
    assert_integer("log2_floor(largest)", 62);
    assert_integer("log2_ceil(1)", 0);
    assert_integer("log2_ceil(2)", 1);
    assert_integer("log2_ceil(1000)", 10);
    assert_integer("log2_ceil(1024)", 10);
    assert_integer("log2_ceil(1025)", 11);
    assert_integer("log2_ceil(largest)", 63);
    assert_integer("max(1, min(ceil_div(n, block_size * 4), 132 * 2))", 1);
}

static void bad_arguments(void **state)
{
    (void)state;
    assert_fails("min(1, finish)", "argument 2 of 'min' must be a number");
    assert_fails("max(finish, 1)", "argument 1 of 'max' must be a number");
    assert_fails("min(finish)", "argument 1 of 'min' must be a number");
    assert_fails("max(1, flag)", "argument 2 of 'max' must be a number");
    assert_fails("abs(finish)", "argument 1 of 'abs' must be a number");
    assert_fails("abs(least)", "the result of 'abs' does not fit in 64 bits");
    assert_fails("floor(flag)", "argument 1 of 'floor' must be a number");
    assert_fails("ceil_div(1, 0)", "argument 2 of 'ceil_div' must be above 0");
    assert_fails("ceil_div(1, -2)", "argument 2 of 'ceil_div' must be above 0");
    assert_fails("ceil_div(-1, 2)", "argument 1 of 'ceil_div' must not be negative");
    assert_fails("ceil_div(1.5, 2)",
                 "argument 1 of 'ceil_div' must be a whole number; floor() and ceil() round");
    assert_fails("round_up(5, 0)", "argument 2 of 'round_up' must be above 0");
    assert_fails("round_up(largest, 2)", "the result of 'round_up' does not fit in 64 bits");
    assert_fails("log2_floor(0)", "argument 1 of 'log2_floor' must be above 0");
    assert_fails("log2_floor(-8)", "argument 1 of 'log2_floor' must be above 0");
    assert_fails("log2_ceil(0)", "argument 1 of 'log2_ceil' must be above 0");
    assert_fails("log2_ceil(2^63)",
                 "argument 1 of 'log2_ceil' must be a whole number; floor() and ceil() round");
}

/* The number of arguments is known before anything is evaluated. */
static void too_many_or_too_few_arguments(void **state)
{
    (void)state;
    assert_refused("min()", "'min' takes at least 1 argument, not 0");
    assert_refused("log2_floor(2, 3)", "'log2_floor' takes 1 argument, not 2");
    assert_refused("abs()", "'abs' takes 1 argument, not 0");
    assert_refused("floor(1.5, 2)", "'floor' takes 1 argument, not 2");
    assert_refused("ceil_div(1)", "'ceil_div' takes 2 arguments, not 1");
    assert_refused("round_up(1, 2, 3)", "'round_up' takes 2 arguments, not 3");
    assert_refused("min", "'min' is a function; write min(...)");
    assert_refused("n(3)", "unknown function 'n'; expected one of: min, max, abs, floor, ceil, "
                           "ceil_div, round_up, log2_floor, log2_ceil");
    assert_refused("ciel_div(n, 3)", "unknown function 'ciel_div'; did you mean 'ceil_div'?");
    char *text = repeat("min(1", ", 1", 255, ")");
    assert_integer(text, 1);
    free(text);
    text = repeat("min(1", ", 1", 256, ")");
    assert_refused(text, "it needs more than 256 values at a time; give functions fewer arguments");
    free(text);
}

static void operations_on_the_wrong_types(void **state)
{
    (void)state;
    assert_fails("1 // 0", "division by zero: '1 // 0'");
    assert_fails("n % 0", "division by zero: 'n % 0'");
    assert_fails("1 / 0", "division by zero: '1 / 0'");
    assert_fails("7 // 0.0", "division by zero: '7 // 0.0'");
    assert_fails("5.0 % -0.0", "division by zero: '5.0 % -0.0'");
    assert_fails("1 / (factor - 2.5)",
                 "division by zero: '(factor - 2.5)' is 0; test '(factor - 2.5) != 0' first");
    assert_fails("7 // (n - 1000)",
                 "division by zero: '(n - 1000)' is 0; test '(n - 1000) != 0' first");
    assert_fails("finish + 1",
                 "'finish' is a word, not a number; compare it with == (finish == ...)");
    assert_fails("1 + \"a\"", "'\"a\"' is a word, not a number; compare it with == (\"a\" == ...)");
    assert_fails("-finish", "'finish' is a word, not a number; compare it with == (finish == ...)");
    assert_fails("n * flag", "'flag' is a condition, not a number; write (flag ? 1 : 0)");
    assert_fails("n < finish",
                 "'n' is a number and 'finish' is a word; < <= > >= compare two numbers or two "
                 "words");
    assert_fails("flag >= true",
                 "'flag' is a condition and 'true' is a condition; < <= > >= compare two numbers "
                 "or two words");
}

static void refused_tokens(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"a[1]", "unexpected character '['; expected an operator"},
        {"{1}", "unexpected character '{'; expected a value"},
        {"a.b", "unexpected character '.'; expected an operator"},
        {"a..b", "unexpected character '.'; expected an operator"},
        {"...", "unexpected character '.'; expected a value"},
        {"a:b()", "unexpected character ':'; expected an operator"},
        {"a; b", "unexpected character ';'; expected an operator"},
        {"#a", "unexpected character '#'; expected a value"},
        {"~a", "unexpected character '~'; expected a value"},
        {"a ! b", "unexpected character '!'; expected an operator"},
        {"a\nb", "unexpected character 0x0a; expected an operator"},
        {"a\x01", "unexpected character 0x01; expected an operator"},
        {"\xc3\xa9", "unexpected character 0xc3; expected a value"},
        {"$a", "unexpected character '$'; expected a value"},
        {"@", "unexpected character '@'; expected a value"},
        {"_ENV", "names are lower-case, not '_ENV'"},
        {"N", "names are lower-case, not 'N'"},
        {"0x10",
         "'0x10' is neither a number nor a lower-case word; write 256, 2^20, 0.5 or last_block"},
        {"10k",
         "'10k' is neither a number nor a lower-case word; write 256, 2^20, 0.5 or last_block"},
        /* programs in Lua, which earlier versions evaluated expressions with */
        {"function() end",
         "unknown function 'function'; expected one of: min, max, abs, floor, ceil, "
         "ceil_div, round_up, log2_floor, log2_ceil"},
        {"while true do end", "expected an operator before 'true'"},
        {"return 1", "expected an operator before '1'"},
        {"local a", "expected an operator before 'a'"},
        {"if a then b end", "expected an operator before 'a'"},
        {"goto a", "expected an operator before 'a'"},
        {"repeat until a", "expected an operator before 'until'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(cases[i].text, cases[i].message);
}

/* Operators that other languages have, and here are none: what to write for them. */
static void foreign_operators(void **state)
{
    (void)state;
    assert_refused("a = 1", "'=' is not an operator here; write 'a == b'");
    assert_refused("a & b", "'&' is not an operator here; write 'a and b'");
    assert_refused("a | b", "'|' is not an operator here; write 'a or b'");
    assert_refused("a <> 1", "'<>' is not an operator here; write 'a != b'");
    assert_refused("a << 1", "'<<' is not an operator here; write 'a * 2^b'");
    assert_refused("a >> 1", "'>>' is not an operator here; write 'a // 2^b'");
    assert_refused("a ** 2", "'**' is not an operator here; write 'a ^ b'");
    assert_refused("a -- b", "'--' is not an operator here; write 'a - -b'");
    assert_refused("--a", "'--' is not an operator here; write '- -a'");
    assert_refused("1 --[[ x ]]", "'--' is not an operator here; write 'a - -b'");
}

static void words_that_are_not(void **state)
{
    (void)state;
    static const char *const words[] = {"\"a\\n\"", "\"a b\"",    "\"a",    "\"a'",
                                        "\"\"",     "\"Atomic\"", "\"10\"", "'_a'"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char *reason = alloc_format("not a word at %s; words have lower-case letters, digits and "
                                    "_, and begin with a letter",
                                    words[i]);
        assert_refused(words[i], reason);
        free(reason);
    }
}

static void malformed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *reason;
    } cases[] = {
        {"1 +", "expected a value at the end"},
        {"(1", "expected an operator or ')' at the end"},
        {"1)", "unexpected character ')'; expected an operator"},
        {"1 2", "expected an operator before '2'"},
        {"n n", "expected an operator before 'n'"},
        {"* 2", "unexpected character '*'; expected a value"},
        {"min(", "expected a value at the end"},
        {"min(1", "expected ',' or ')' at the end"},
        {"min(1,)", "unexpected character ')'; expected a value"},
        {"min(1 2)", "expected ',' or ')' before '2'"},
        {"1,", "unexpected character ','; expected an operator"},
        {"()", "unexpected character ')'; expected a value"},
        {"1..2",
         "'1..2' is neither a number nor a lower-case word; write 256, 2^20, 0.5 or last_block"},
        {"1e",
         "'1e' is neither a number nor a lower-case word; write 256, 2^20, 0.5 or last_block"},
        {"3.4.5",
         "'3.4.5' is neither a number nor a lower-case word; write 256, 2^20, 0.5 or last_block"},
        {"a and", "expected a value at the end"},
        {"and a", "expected a value before 'and'"},
        {"not", "expected a value at the end"},
        {"in in", "expected an operator before 'in'"},
        {"n in finish", "expected an operator before 'in'"},
        {"\"a\"in", "expected an operator before 'in'"},
        {"flag ? 1", "expected an operator or ':' at the end"},
        {"flag ? 1 2", "expected an operator or ':' before '2'"},
        {"flag ? : 2", "unexpected character ':'; expected a value"},
        {"flag ? 1 :", "expected a value at the end"},
        {"? 1 : 2", "unexpected character '?'; expected a value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(cases[i].text, cases[i].reason);
    assert_message("", "expression is empty");
    assert_message(" \t ", "expression is empty");
}

static void nesting_ends_at_64(void **state)
{
    (void)state;
    char *open = repeat("", "(", 64, "1");
    char *text = repeat(open, ")", 64, "");
    assert_integer(text, 1);
    free(open);
    free(text);
    open = repeat("", "(", 65, "1");
    text = repeat(open, ")", 65, "");
    assert_refused(text, "nested more than 64 deep; use fewer parentheses, or several "
                         "constraints");
    free(open);
    free(text);
    /* the depth, not their number */
    text = repeat("0", "+(1)", 100, "");
    assert_integer(text, 100);
    free(text);
}

/* Whatever nests counts, since the parser calls itself for it. */
static void nesting_of_operators(void **state)
{
    (void)state;
    static const struct {
        const char *unit, *last, *close;
    } cases[] = {{"not ", "flag", ""},     {"!", "flag", ""},    {"- ", "1", ""},  {"1^", "1", ""},
                 {"flag ? 1 : ", "1", ""}, {"min(1,", "1", ")"}, {"(1+", "1", ")"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *open = repeat("", cases[i].unit, 64, cases[i].last);
        char *text = repeat(open, cases[i].close, 64, "");
        expression_free(compile(text));
        free(open);
        free(text);
        open = repeat("", cases[i].unit, 65, cases[i].last);
        text = repeat(open, cases[i].close, 65, "");
        assert_refused(text, "nested more than 64 deep; use fewer parentheses, or several "
                             "constraints");
        free(open);
        free(text);
        text = repeat("", cases[i].unit, 300, "");
        assert_refused(text, "nested more than 64 deep; use fewer parentheses, or several "
                             "constraints");
        free(text);
    }
    /* a chain is not nested */
    char *text = repeat("false", " or false", 400, "");
    assert_boolean(text, false);
    free(text);
    text = repeat("flag", " and flag", 400, "");
    assert_boolean(text, true);
    free(text);
    text = repeat("1", " - 1", 800, "");
    assert_integer(text, -799);
    free(text);
}

static void texts_end_at_65536_bytes(void **state)
{
    (void)state;
    char *text = repeat("1", "+1", 32767, " ");
    assert_int_equal(strlen(text), 65536);
    assert_integer(text, 32768);
    free(text);
    text = repeat("1", "+1", 32768, "");
    assert_message(text, "expression is longer than 65536 bytes");
    free(text);
}

static void at_most_32_names(void **state)
{
    (void)state;
    char text[512] = "0";
    for (size_t i = 0; i < 32; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "+x%zu+x%zu", i, i);
    struct expression *expression = compile(text);
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
    assert_refused(text, "too many names: at most 32, not also 'x32'");
}

static void names_have_at_most_63_letters(void **state)
{
    (void)state;
    char *text = repeat("", "a", 63, "");
    expression_free(compile(text));
    free(text);
    text = repeat("", "a", 64, "");
    assert_refused(text, "name 'aaaaaaaaaaaaaaaaaaaa...' is longer than 63 letters");
    free(text);
}

static void evaluating_leaves_nothing_behind(void **state)
{
    (void)state;
    struct expression *expression = compile("finish == 'atomic' and n * 1.5 or finish");
    struct bindings bindings = names();
    struct scope scope = {&bindings, NULL};
    struct error error;
    for (int i = 0; i < 200000; i++) {
        struct value value;
        assert_int_equal(expression_value(expression, &scope, &value, &error), 0);
    }
    struct expression *failing = compile("n + finish");
    for (int i = 0; i < 50000; i++) {
        struct value value;
        assert_int_equal(expression_value(failing, &scope, &value, &error), ERROR_CONFIG);
    }
    assert_non_null(strstr(error.message, "'finish' is a word, not a number"));
    bindings_release(&bindings);
    expression_free(expression);
    expression_free(failing);
}

static void names_each_once(void **state)
{
    (void)state;
    struct expression *expression =
        compile("min(n, block_size) + n * ceil_div(n, sm_count) > 0 and yes or not no");
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
    (void)state;
    static const char *const known[] = {"block_size", "num_load", "n", NULL};
    struct error error;
    struct expression *expression = compile("block_size * num_load + n");
    assert_int_equal(expression_check_names(expression, known, &error), 0);
    expression_free(expression);
    expression = compile("block_size * num_laod + x");
    assert_int_equal(expression_check_names(expression, known, &error), ERROR_CONFIG);
    assert_string_equal(error.message, "unknown name 'num_laod'; did you mean 'num_load'?");
    assert_string_equal(error.file, "t.ini");
    assert_int_equal(error.line, 4);
    expression_free(expression);
}

static void inner_scopes_come_first(void **state)
{
    (void)state;
    struct bindings inner = {0};
    struct bindings outer = {0};
    bindings_set(&inner, "a", value_integer(1));
    bindings_set(&outer, "a", value_integer(2));
    bindings_set(&outer, "b", value_integer(3));
    struct scope outside = {&outer, NULL};
    struct scope scope = {&inner, &outside};
    struct expression *expression = compile("10 * a + b");
    struct error error;
    int64_t integer;
    assert_int_equal(expression_integer(expression, &scope, &integer, &error), 0);
    assert_int_equal(integer, 13);
    assert_int_equal(expression_integer(expression, &outside, &integer, &error), 0);
    assert_int_equal(integer, 23);
    expression_free(expression);
    expression = compile("a + c");
    assert_int_equal(expression_integer(expression, &scope, &integer, &error), ERROR_CONFIG);
    assert_string_equal(error.message, "'c' has no value here, in expression 'a + c'");
    assert_int_equal(error.line, 4);
    expression_free(expression);
    bindings_release(&inner);
    bindings_release(&outer);
}

static int integer_of(const char *text, int64_t *integer, struct error *error)
{
    struct expression *expression = compile(text);
    struct bindings bindings = names();
    struct scope scope = {&bindings, NULL};
    int status = expression_integer(expression, &scope, integer, error);
    bindings_release(&bindings);
    expression_free(expression);
    return status;
}

static void integers(void **state)
{
    (void)state;
    struct error error;
    int64_t integer;
    assert_int_equal(integer_of("2^20", &integer, &error), 0);
    assert_int_equal(integer, 1 << 20);
    assert_int_equal(integer_of("-2^63", &integer, &error), 0);
    assert_true(integer == INT64_MIN);
    assert_int_equal(integer_of("n / 8", &integer, &error), 0);
    assert_int_equal(integer, 125);
    static const char *const refused[] = {"n / 3", "2^63", "finish", "flag"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char message[256];
        assert_int_equal(integer_of(refused[i], &integer, &error), ERROR_CONFIG);
        (void)snprintf(message, sizeof message,
                       "cannot evaluate '%s': it is not a whole number; // divides whole numbers, "
                       "ceil_div(a, b) rounds up",
                       refused[i]);
        assert_reason(&error, message);
    }
}

static void reals(void **state)
{
    (void)state;
    struct bindings bindings = names();
    struct scope scope = {&bindings, NULL};
    struct error error;
    double real;
    struct expression *expression = compile("n");
    assert_int_equal(expression_real(expression, &scope, &real, &error), 0);
    assert_true(real >= 1000 && real <= 1000);
    expression_free(expression);
    expression = compile("1e-5");
    assert_int_equal(expression_real(expression, &scope, &real, &error), 0);
    assert_true(fabs(real - 1e-5) < 1e-20);
    expression_free(expression);
    expression = compile("finish");
    assert_int_equal(expression_real(expression, &scope, &real, &error), ERROR_CONFIG);
    assert_string_equal(error.message,
                        "cannot evaluate 'finish': it is not a number (finish = atomic)");
    expression_free(expression);
    bindings_release(&bindings);
}

static void booleans(void **state)
{
    (void)state;
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
        struct expression *expression = compile(cases[i].text);
        assert_int_equal(expression_boolean(expression, &scope, &boolean, &error), 0);
        assert_int_equal(boolean, cases[i].expected);
        expression_free(expression);
    }
    static const struct {
        const char *text, *message;
    } refused[] = {
        {"n", "cannot evaluate 'n': 'n' is a number, not a condition; write 'n != 0'"},
        {"finish", "cannot evaluate 'finish': 'finish' is a word, not a condition; write 'finish "
                   "== \"atomic\"'"},
        {"factor", "cannot evaluate 'factor': 'factor' is a number, not a condition; write 'factor "
                   "!= 0'"},
        {"n % 3", "cannot evaluate 'n % 3': 'n % 3' is a number, not a condition; write '(n % 3) "
                  "!= 0'"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        bool boolean;
        struct expression *expression = compile(refused[i].text);
        assert_int_equal(expression_boolean(expression, &scope, &boolean, &error), ERROR_CONFIG);
        assert_reason(&error, refused[i].message);
        expression_free(expression);
    }
    bindings_release(&bindings);
}

static void failures_show_the_values(void **state)
{
    (void)state;
    struct bindings bindings = names();
    struct scope scope = {&bindings, NULL};
    struct error error;
    int64_t integer;
    struct expression *expression = compile("n // (block_size - 256) + n");
    assert_int_equal(expression_integer(expression, &scope, &integer, &error), ERROR_CONFIG);
    assert_non_null(strstr(error.message, " (n = 1000, block_size = 256)"));
    assert_int_equal(expression_refuse(expression, &scope, "not today", &error), ERROR_CONFIG);
    assert_string_equal(error.message, "cannot evaluate 'n // (block_size - 256) + n': not today "
                                       "(n = 1000, block_size = 256)");
    expression_free(expression);
    bindings_release(&bindings);
}

static void the_fast_way(void **state)
{
    (void)state;
    struct expression *expression = compile("a * b <= 64 and w == 'x'");
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

/* What Lua 5.4 makes of these, which evaluated expressions before: files were written for it. */
static void as_lua_has_it(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool truth;
    } cases[] = {
        {"-7 // 2 == -4 and -7 % 2 == 1 and 7 % -2 == -1 and 7 // -2 == -4", true},
        {"-7.5 // 2 == -4 and -7.5 % 2 == 0.5 and 7.5 % -2 == -0.5", true},
        {"-6 % 3 == 0 and -6 // 3 == -2 and 6 % -1 == 0", true},
        {"2^53 == 9007199254740993", false}, /* which no real number is */
        {"2^53 < 9007199254740993 and 9007199254740993 > 2^53", true},
        {"-(2^53) > -9007199254740993", true},
        {"largest < 2^63 and largest >= 2^62 and least == -2^63", true},
        {"- 2 ^ 2 == -4.0 and 2 ^ 3 ^ 2 == 512 and 2 ^ -1 == 0.5", true},
        {"1 == 1.0 and 1 != \"one\" and flag != 1", true},
        {"finish == 1", false},
        {"finish == \"atomic\" and n > 1 or false", true},
        {"flag or n // 0 == 1", true},
        {"not flag and n // 0 == 0", false},
        {"finish < \"two\" and \"a\" <= \"a\" and \"b\" > \"a_\" and \"a1\" < \"aa\"", true},
        {"in == 'in' and not (in == \"inn\")", true},
        {"((n > 1 or flag) and (n < 1 or not flag)) == false", true},
        {".5 < 1 and 5e-1 == .5 and 1e2 == 100 and 1E+2 == 100.", true},
        {"7 / 2 == 3.5 and 8 / 2 == 4 and 2^10 == 1024", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_boolean(cases[i].text, cases[i].truth);
}

/* C's operators, beside Lua's. `? :` is C11 6.5.15: what is not chosen is not evaluated. */
static void operators_of_c(void **state)
{
    (void)state;
    assert_boolean("n != 1000", false);
    assert_boolean("n != 1 && flag", true);
    assert_boolean("n != 1000 || !flag", false);
    assert_boolean("!flag", false);
    assert_boolean("!!flag", true);
    assert_boolean("!(n == 1) && !(n == 2)", true);
    assert_boolean("no || yes && no", false); /* && binds more tightly */
    assert_boolean("yes || yes && no", true);
    assert_integer("flag ? 1 : 2", 1);
    assert_integer("n < 3 ? 1 : 2", 2);
    assert_integer("n < 3 ? 1 : n < 2000 ? 2 : 3", 2);
    assert_integer("n < 3000 ? n > 5 ? 1 : 2 : 3", 1);
    assert_integer("(n < 3 ? 1 : 2) * 10", 20);
    assert_integer("n < 3 ? 1 : 2 * 10", 20);
    assert_integer("1 + (flag ? block_size : n)", 257);
    assert_integer("min(flag ? 5 : 1, 7)", 5);
    assert_boolean("n < 3 || flag ? no : yes", false);
    assert_value("flag ? finish : 'none'", value_word("atomic"));
    assert_integer("flag ? 1 : n // 0", 1);
    assert_integer("n == 0 ? n // 0 : 2", 2);
    assert_boolean("flag ? n > 1 : n > 2000", true);
    assert_boolean("(n != 0 && 8 // n == 0) || n // 0 == 1", true);
}

/* `c and a or b`, Lua's way to choose: nothing but the right operand of `and` may be a number. */
static void choices_with_and_and_or(void **state)
{
    (void)state;
    assert_integer("n > 1 and block_size or n", 256);
    assert_integer("n < 1 and block_size or n", 1000);
    assert_integer("n < 1 and 1 or n < 2 and 2 or n < 2000 and 3 or 4", 3);
    assert_integer("n > 1 and flag and 5 or 6", 5);
    assert_integer("n > 1 && 5 || 6", 5);
    assert_integer("(n > 1 and 5 or 6) + 1", 6);
    assert_fails("flag and no or 6", "'6' is a number, not a condition; write '6 != 0'");
    assert_fails("flag and n", "'n' is a number, not a condition; write 'n != 0'");
    assert_fails("(flag and n) or 3", "'n' is a number, not a condition; write 'n != 0'");
    assert_fails("flag and n and flag", "'n' is a number, not a condition; write 'n != 0'");
    assert_fails("flag and n or 3 and 4",
                 "'flag and n or 3 and 4' is a number, not a condition; write '(flag and n or 3 "
                 "and 4) != 0'");
    assert_fails("flag and 1 or 2 ? 3 : 4", "'flag and 1 or 2' is a number, not a condition; write "
                                            "'(flag and 1 or 2) != 0'");
}

/* 0 is true in Lua and false in C: here neither is anything of the kind. */
static void numbers_are_not_conditions(void **state)
{
    (void)state;
    static const char *const texts[] = {"not n",      "!n",         "n or flag",     "n and flag",
                                        "n || flag",  "n && flag",  "not flag or n", "n ? 1 : 2",
                                        "flag and n", "flag && !n", "!flag || n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_fails(texts[i], "'n' is a number, not a condition; write 'n != 0'");
    assert_fails("n % 2 and flag", "'n % 2' is a number, not a condition; write '(n % 2) != 0'");
    assert_fails("not factor", "'factor' is a number, not a condition; write 'factor != 0'");
    assert_fails("not finish", "'finish' is a word, not a condition; write 'finish == \"atomic\"'");
    assert_fails("0 or flag", "'0' is a number, not a condition; write '0 != 0'");
    /* what is not reached is not evaluated, and so not wrong */
    assert_boolean("flag or n", true);
    assert_boolean("not flag and n", false);
}

/* A parameter may have the words yes and no. */
static void words_that_are_conditions(void **state)
{
    (void)state;
    struct bindings bindings = {0};
    bindings_set(&bindings, "on", value_word("yes"));
    bindings_set(&bindings, "off", value_word("no"));
    bindings_set(&bindings, "real", value_word("true"));
    bindings_set(&bindings, "unreal", value_word("false"));
    struct scope scope = {&bindings, NULL};
    static const char *const texts[] = {
        "on",          "not off",       "on and not off", "off or on",     "on ? yes : no",
        "on == yes",   "on != no",      "on == \"yes\"",  "off == no",     "real and not unreal",
        "real == yes", "on == (1 < 2)", "off != \"yes\"", "off == (1 > 2)"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct expression *expression = compile(texts[i]);
        struct error error;
        bool truth = false;
        assert_int_equal(expression_boolean(expression, &scope, &truth, &error), 0);
        if (!truth)
            fail_msg("'%s' is false", texts[i]);
        expression_free(expression);
    }
    bindings_release(&bindings);
}

/* C, Lua and Python have three meanings for these. */
static void comparisons_do_not_chain(void **state)
{
    (void)state;
    assert_refused("32 <= n <= 1024",
                   "comparisons cannot be chained; write '32 <= n and n <= 1024'");
    assert_refused(
        "1 < min(n, 3) * 2 < 8 and flag",
        "comparisons cannot be chained; write '1 < min(n, 3) * 2 and min(n, 3) * 2 < 8'");
    assert_refused("n == block_size == 3",
                   "comparisons cannot be chained; write 'n == block_size and block_size == 3'");
    assert_refused("n < 3 == flag", "'n < 3' needs parentheses here; write '(n < 3) == flag'");
    assert_refused("not n == 0", "'not' applies to 'n' alone; write 'not (n == 0)'");
    assert_refused("!n < 3", "'not' applies to 'n' alone; write 'not (n < 3)'");
    assert_refused("1 < 2 < ", "expected a value at the end");
    assert_boolean("(n < 3) == (n < 4)", true);
    assert_boolean("(not flag) == no", true);
    assert_boolean("not (n == 0)", true);
}

/* A number that does not fit is an error, not another number. */
static void overflow(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "largest + 1", "least - 1", "largest * 2", "least // -1",   "largest - -1",
        "least * -1",  "-least",    "-(least)",    "least + least", "largest*largest"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *reason = alloc_format("'%s' does not fit in 64 bits; multiply an operand by 1.0 to "
                                    "compute with real numbers",
                                    texts[i]);
        assert_fails(texts[i], reason);
        free(reason);
    }
    assert_fails("n + 3000000000 * 4000000000",
                 "'3000000000 * 4000000000' does not fit in 64 bits; multiply an operand by 1.0 to "
                 "compute with real numbers");
    assert_integer("largest + least", -1);
    assert_integer("least % -1", 0);
    assert_integer("largest // -1", -INT64_MAX);
    assert_integer("-9223372036854775807 - 1", INT64_MIN);
    assert_integer("9223372036854775807", INT64_MAX);
    assert_real("largest * 1.0", 0x1p63);
    assert_real("-9223372036854775808.0", -0x1p63);
    assert_refused("9223372036854775808", "'9223372036854775808' does not fit in 64 bits; end it "
                                          "with .0 for a real number");
    assert_refused("1e999", "'1e999' does not fit in a double");
    char *text = repeat("", "9", 4000, "");
    struct expression *expression;
    struct error error;
    assert_int_equal(expression_new(&expression, text, "t.ini", 4, &error), ERROR_CONFIG);
    free(text);
    text = repeat("0.", "3", 4000, "");
    assert_real(text, 1.0 / 3);
    free(text);
}

/* --- against a second opinion --- */

static uint32_t random_below(uint64_t *random, uint32_t bound)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*random >> 33) % bound;
}

__extension__ typedef __int128 wide; /* holds whatever two numbers of 64 bits yield */

/* A whole number and how to write it: made together, so that neither is computed from the other.
 * Priorities are those of kernel_templates/README.md; a part is in parentheses only if it must be. */
struct sum {
    char text[1024];
    wide value;
    int priority;
    bool fails; /* divides by zero, or does not fit in 64 bits */
};

enum { SUM = 1, PRODUCT = 2, SIGN = 3, ATOM = 4 };

static void make_sum(struct sum *sum, uint64_t *random, int levels);

static void make_atom(struct sum *sum, uint64_t *random)
{
    static const struct {
        const char *text;
        int64_t value;
    } atoms[] = {{"n", 1000},
                 {"block_size", 256},
                 {"largest", INT64_MAX},
                 {"least", INT64_MIN},
                 {"0", 0},
                 {"1", 1},
                 {"3", 3},
                 {"7", 7},
                 {"3037000500", 3037000500}};
    size_t i = random_below(random, sizeof atoms / sizeof *atoms);
    *sum = (struct sum){.value = atoms[i].value, .priority = ATOM};
    strcpy(sum->text, atoms[i].text);
}

static wide floor_quotient(wide a, wide b)
{
    wide quotient = b != 0 ? a / b : 0;
    return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static void apply(struct sum *sum, char sign, const struct sum *left, const struct sum *right)
{
    sum->fails = left->fails || right->fails;
    if (sum->fails)
        return;
    sum->fails = (sign == '/' || sign == '%') && right->value == 0;
    if (sum->fails)
        return;
    sum->value = sign == '+'   ? left->value + right->value
                 : sign == '-' ? left->value - right->value
                 : sign == '*' ? left->value * right->value
                 : sign == '/'
                     ? floor_quotient(left->value, right->value)
                     : left->value - floor_quotient(left->value, right->value) * right->value;
    sum->fails = sum->value > INT64_MAX || sum->value < INT64_MIN;
}

static void write_part(char *text, const struct sum *part, int least_priority)
{
    bool parentheses = part->priority < least_priority;
    strcat(text, parentheses ? "(" : "");
    strcat(text, part->text);
    strcat(text, parentheses ? ")" : "");
}

static void make_sum(struct sum *sum, uint64_t *random, int levels)
{
    static const struct {
        const char *text;
        char sign;
        int priority;
    } operators[] = {{" + ", '+', SUM},
                     {" - ", '-', SUM},
                     {" * ", '*', PRODUCT},
                     {" // ", '/', PRODUCT},
                     {" % ", '%', PRODUCT}};
    struct sum left;
    struct sum right;
    if (levels == 0 || random_below(random, 6) == 0) {
        make_atom(sum, random);
        return;
    }
    make_sum(&left, random, levels - 1);
    make_sum(&right, random, levels - 1);
    *sum = (struct sum){0};
    if (random_below(random, 6) == 0) {
        const struct sum zero = {.priority = ATOM};
        sum->priority = SIGN;
        strcat(sum->text, "- ");
        write_part(sum->text, &left, SIGN);
        apply(sum, '-', &zero, &left);
        return;
    }
    size_t i = random_below(random, sizeof operators / sizeof *operators);
    sum->priority = operators[i].priority;
    write_part(sum->text, &left, sum->priority);
    strcat(sum->text, operators[i].text);
    write_part(sum->text, &right, sum->priority + 1); /* all chains begin on the left */
    apply(sum, operators[i].sign, &left, &right);
}

static void sums_of_whole_numbers(void **state)
{
    (void)state;
    struct bindings bindings = names();
    struct scope scope = {&bindings, NULL};
    uint64_t random = 3;
    int values = 0;
    int failures = 0;
    for (int i = 0; i < 20000; i++) {
        struct sum sum;
        struct error error;
        struct value value;
        make_sum(&sum, &random, 1 + i % 4);
        struct expression *expression = compile(sum.text);
        int status = expression_value(expression, &scope, &value, &error);
        if (status != (sum.fails ? ERROR_CONFIG : 0))
            fail_msg("'%s' yields %d: %s", sum.text, status, error.message);
        if (status == 0 && !value_equal(value, value_integer((int64_t)sum.value)))
            fail_msg("'%s' is not %lld", sum.text, (long long)value.as.integer);
        values += status == 0;
        failures += status != 0;
        expression_free(expression);
    }
    assert_true(values > 5000 && failures > 5000);
    bindings_release(&bindings);
}

/* --- surroundings --- */

static void the_same_in_every_locale(void **state)
{
    (void)state;
    if (!comma_locale_enter())
        skip();
    char text[8];
    (void)snprintf(text, sizeof text, "%.1f", 0.5);
    assert_string_equal(text, "0,5");
    assert_real("0.5 + .25", 0.75);
    assert_real("1.5e3 / 2", 750);
    assert_integer("ceil(2.5)", 3);
    assert_refused("0,5", "unexpected character ','; expected an operator");
    assert_boolean("\"b\" > \"a_\" and \"a1\" < \"aa\"", true);
    assert_refused("\xc3\xa4", "unexpected character 0xc3; expected a value");
    comma_locale_leave();
}

static void *evaluate_often(void *argument)
{
    const struct expression *expression = argument;
    struct bindings bindings = names();
    struct scope scope = {&bindings, NULL};
    size_t wrong = 0;
    for (int i = 0; i < 20000; i++) {
        struct error error;
        bool holds = false;
        wrong += expression_boolean(expression, &scope, &holds, &error) != 0 || !holds;
    }
    bindings_release(&bindings);
    return (void *)(uintptr_t)wrong;
}

static void threads_may_share_an_expression(void **state)
{
    (void)state;
    pthread_t threads[4];
    struct expression *expression =
        compile("min(n, 2 * block_size) == 512 and (finish == 'atomic' ? factor < 3 : no)");
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, evaluate_often, expression), 0);
    for (size_t i = 0; i < 4; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    expression_free(expression);
}

static void reserved_names(void **state)
{
    (void)state;
    static const char *const reserved[] = {"and", "or", "not",      "true", "false",
                                           "yes", "no", "ceil_div", "min",  "log2_ceil"};
    static const char *const usual[] = {"in", "end", "repeat", "nil", "android", "n", "minimum"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        assert_true(expression_reserves(reserved[i]));
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        assert_false(expression_reserves(usual[i]));
}

static void nothing_to_free(void **state)
{
    (void)state;
    expression_free(NULL);
}

/* Of each text, its conditions with bars between them. */
static void conditions_that_and_joins(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"n > 1 and finish == 'and' and (flag or n < 3)",
         "n > 1 | finish == 'and' | (flag or n < 3)"},
        {"not flag && max(n, 2 * (n + 1)) > 3", "not flag | max(n, 2 * (n + 1)) > 3"},
        {"n > 1", ""},
        {"(n > 1 and n < 9)", ""},
        {"n > 1 and flag or n < 3", ""},
        {"n > 1 and flag ? n < 3 : n > 4", ""},
        {"command and orders", "command | orders"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct expression *expression = compile(cases[i][0]);
        struct expression **conditions;
        char text[128] = "";
        size_t count = expression_conditions(expression, &conditions);
        for (size_t j = 0; j < count; j++) {
            const char *condition = expression_text(conditions[j]);
            size_t length = strlen(condition);
            condition += strspn(condition, " ");
            strcat(text, j > 0 ? " | " : "");
            strncat(text, condition, length);
            while (text[strlen(text) - 1] == ' ')
                text[strlen(text) - 1] = '\0';
            expression_free(conditions[j]);
        }
        assert_string_equal(text, cases[i][1]);
        free(conditions);
        expression_free(expression);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        TEST(operators),
        TEST(words_and_choices),
        TEST(a_buffer_may_be_called_in),
        TEST(functions),
        TEST(bad_arguments),
        TEST(too_many_or_too_few_arguments),
        TEST(operations_on_the_wrong_types),
        TEST(refused_tokens),
        TEST(foreign_operators),
        TEST(words_that_are_not),
        TEST(malformed),
        TEST(nesting_ends_at_64),
        TEST(nesting_of_operators),
        TEST(texts_end_at_65536_bytes),
        TEST(at_most_32_names),
        TEST(names_have_at_most_63_letters),
        TEST(evaluating_leaves_nothing_behind),
        TEST(names_each_once),
        TEST(unknown_names),
        TEST(inner_scopes_come_first),
        TEST(integers),
        TEST(reals),
        TEST(booleans),
        TEST(failures_show_the_values),
        TEST(the_fast_way),
        TEST(as_lua_has_it),
        TEST(operators_of_c),
        TEST(choices_with_and_and_or),
        TEST(numbers_are_not_conditions),
        TEST(words_that_are_conditions),
        TEST(comparisons_do_not_chain),
        TEST(overflow),
        TEST(sums_of_whole_numbers),
        TEST(the_same_in_every_locale),
        TEST(threads_may_share_an_expression),
        TEST(reserved_names),
        TEST(nothing_to_free),
        TEST(conditions_that_and_joins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
