#include "template/value.h"

#include "base/alloc.h"

#include "unit/cases.h"
#include "unit/comma_locale.h"

#include <inttypes.h>
#include <pthread.h>

static struct expression *compile(const char *text)
{
    struct expression *expression;
    struct error error;
    if (expression_new(&expression, text, "t.ini", 4, &error) != 0)
        fail_msg("'%s' is refused: %s", text, error.message);
    return expression;
}

static int value_of(const struct expression *expression, const struct scope *scope,
                    struct value *value, struct error *error)
{
    struct evaluation evaluation = {scope, error, 0};
    *value = evaluate_value(&evaluation, expression, value_integer(0));
    return evaluation.status;
}

static int integer_of(const struct expression *expression, const struct scope *scope,
                      int64_t *integer, struct error *error)
{
    struct evaluation evaluation = {scope, error, 0};
    *integer = evaluate_integer(&evaluation, expression, 0);
    return evaluation.status;
}

static int real_of(const struct expression *expression, const struct scope *scope, double *real,
                   struct error *error)
{
    struct evaluation evaluation = {scope, error, 0};
    *real = evaluate_real(&evaluation, expression, 0);
    return evaluation.status;
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

/* The value as the tables have it: words are in quotes. */
static void value_write(struct value value, char *text, size_t room)
{
    char buffer[VALUE_TEXT_BYTES];
    const char *quote = value.kind == VALUE_WORD ? "\"" : "";
    (void)snprintf(text, room, "%s%s%s", quote, value_exact_text(value, buffer), quote);
}

static void assert_place(const struct error *error)
{
    assert_string_equal(error->file, "t.ini");
    assert_int_equal(error->line, 4);
}

/* Refused when compiled, with this message or with this reason for which it cannot be parsed. */
static void assert_refused(const char *text, const char *reason)
{
    struct expression *expression = NULL;
    struct error error = {0};
    if (expression_new(&expression, text, "t.ini", 4, &error) != ERROR_CONFIG)
        fail_msg("'%s' is accepted", text);
    assert_null(expression);
    assert_place(&error);
    char *message = alloc_format("cannot parse expression '%s': %s", text, reason);
    if (strlen(message) >= sizeof error.message)
        message[sizeof error.message - 1] = '\0';
    assert_string_equal(error.message, strncmp(error.message, "cannot", 6) == 0 ? message : reason);
    free(message);
}

/* The message is this, or this and the values of the names. */
static void assert_reason(const struct error *error, const char *text, const char *reason)
{
    char *message = alloc_format("cannot evaluate '%s': %s", text, reason);
    size_t length = strlen(message);
    assert_place(error);
    if (strncmp(error->message, message, length) != 0 ||
        (error->message[length] != '\0' && strncmp(error->message + length, " (", 2) != 0))
        fail_msg("'%s' instead of '%s'", error->message, message);
    free(message);
}

static void check_case(void *user, const struct test_case *test)
{
    const struct scope scope = {user, NULL};
    const char *text = test->fields[0], *expected = test->fields[test->count - 1];
    struct value value;
    struct error error = {0};
    char actual[128];
    if (strcmp(test->fields[1], "refused") == 0) {
        assert_refused(text, expected);
        return;
    }
    struct expression *expression = compile(text);
    int status = value_of(expression, &scope, &value, &error);
    if (test->count == 3) {
        if (status != ERROR_CONFIG)
            case_fail(test, "'%s' has a value", text);
        assert_reason(&error, text, expected);
    } else {
        if (status != 0)
            case_fail(test, "'%s' has no value: %s", text, error.message);
        value_write(value, actual, sizeof actual);
        if (strcmp(actual, expected) != 0)
            case_fail(test, "'%s' is %s", text, actual);
    }
    expression_free(expression);
}

UNIT_TEST(values_and_errors)
{
    struct bindings bindings = names();
    cases_run(CASES, check_case, &bindings);
    bindings_release(&bindings);
}

UNIT_TEST(the_same_in_every_locale)
{
    if (!comma_locale_enter())
        skip();
    char text[8];
    (void)snprintf(text, sizeof text, "%.1f", 0.5);
    assert_string_equal(text, "0,5");
    values_and_errors(state);
    comma_locale_leave();
}

/* --- limits --- */

/* `before`, `unit` so many times, `after`: a new string. */
static char *repeat(const char *before, const char *unit, size_t count, const char *after)
{
    char *text = alloc_zeroed(strlen(before) + strlen(unit) * count + strlen(after) + 1, 1);
    char *end = stpcpy(text, before);
    for (size_t i = 0; i < count; i++)
        end = stpcpy(end, unit);
    strcpy(end, after);
    return text;
}

static void assert_value(const char *text, struct value expected)
{
    struct expression *expression = compile(text);
    struct bindings bindings = names();
    struct scope scope = {&bindings, NULL};
    struct value value;
    struct error error;
    if (value_of(expression, &scope, &value, &error) != 0)
        fail_msg("'%s' has no value: %s", text, error.message);
    assert_true(value_equal(value, expected));
    bindings_release(&bindings);
    expression_free(expression);
}

UNIT_TEST(what_is_long_or_many)
{
    static const struct {
        const char *before, *unit;
        size_t count;
        const char *after;
        int64_t value;
        const char *reason; /* NULL: it has the value */
    } cases[] = {
        {"min(1", ", 1", 255, ")", 1, NULL},
        {"min(1", ", 1", 256, ")", 0,
         "it needs more than 256 values at a time; give functions fewer arguments"},
        {"1", "+1", 32767, " ", 32768, NULL},
        {"1", "+1", 32768, "", 0, "expression is longer than 65536 bytes"},
        {"", "a", 64, "", 0, "name 'aaaaaaaaaaaaaaaaaaaa...' is longer than 63 letters"},
        /* chains are not nested */
        {"0", "+(1)", 100, "", 100, NULL},
        {"(false", " or false", 400, ") ? 1 : 2", 2, NULL},
        {"(flag", " and flag", 400, ") ? 1 : 2", 1, NULL},
        {"1", " - 1", 800, "", -799, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = repeat(cases[i].before, cases[i].unit, cases[i].count, cases[i].after);
        if (cases[i].reason != NULL)
            assert_refused(text, cases[i].reason);
        else
            assert_value(text, value_integer(cases[i].value));
        free(text);
    }
    char *text = repeat("0.", "3", 4000, "");
    assert_value(text, value_real(1.0 / 3));
    free(text);
}

/* Whatever nests counts, since the parser calls itself for it. */
UNIT_TEST(nesting_ends_at_64)
{
    static const char reason[] =
        "nested more than 64 deep; use fewer parentheses, or several constraints";
    static const struct {
        const char *unit, *last, *close;
    } cases[] = {{"not ", "flag", ""}, {"!", "flag", ""},        {"- ", "1", ""},
                 {"1^", "1", ""},      {"flag ? 1 : ", "1", ""}, {"min(1,", "1", ")"},
                 {"(1+", "1", ")"},    {"(", "1", ")"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t depth = 64; depth <= 65; depth++) {
            char *open = repeat("", cases[i].unit, depth, cases[i].last);
            char *text = repeat(open, cases[i].close, depth, "");
            if (depth == 65)
                assert_refused(text, reason);
            else
                expression_free(compile(text));
            free(open);
            free(text);
        }
        char *text = repeat("", cases[i].unit, 300, "");
        assert_refused(text, reason);
        free(text);
    }
}

UNIT_TEST(at_most_32_names)
{
    char text[512] = "0";
    struct bindings bindings = {0};
    for (int i = 0; i < 32; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "x%d", i);
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "+%s+%s", name, name);
        bindings_set(&bindings, name, value_integer(i));
    }
    struct expression *expression = compile(text);
    assert_int_equal(expression_name_count(expression), 32);
    struct scope scope = {&bindings, NULL};
    struct error error;
    int64_t sum;
    assert_int_equal(integer_of(expression, &scope, &sum, &error), 0);
    assert_int_equal(sum, 2 * 496);
    bindings_release(&bindings);
    expression_free(expression);
    strcat(text, "+x32");
    assert_refused(text, "too many names: at most 32, not also 'x32'");
}

/* --- names --- */

UNIT_TEST(names_each_once)
{
    static const char *const known[] = {"block_size", "num_load", "n", NULL};
    struct error error;
    struct expression *expression =
        compile("min(n, block_size) + n * ceil_div(n, num_load) > 0 and yes or not no");
    assert_int_equal(expression_name_count(expression), 3);
    assert_string_equal(expression_name(expression, 0), "n");
    assert_string_equal(expression_name(expression, 1), "block_size");
    assert_string_equal(expression_name(expression, 2), "num_load");
    assert_true(expression_uses(expression, "num_load"));
    assert_false(expression_uses(expression, "num"));
    assert_false(expression_uses(expression, "min"));
    assert_int_equal(expression_check_names(expression, known, &error), 0);
    expression_free(expression);
    expression = compile("block_size * num_laod + x");
    assert_int_equal(expression_check_names(expression, known, &error), ERROR_CONFIG);
    assert_string_equal(error.message, "unknown name 'num_laod'; did you mean 'num_load'?");
    assert_place(&error);
    expression_free(expression);
}

UNIT_TEST(inner_scopes_come_first)
{
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
    assert_int_equal(integer_of(expression, &scope, &integer, &error), 0);
    assert_int_equal(integer, 13);
    assert_int_equal(integer_of(expression, &outside, &integer, &error), 0);
    assert_int_equal(integer, 23);
    expression_free(expression);
    expression = compile("a + c");
    assert_int_equal(integer_of(expression, &scope, &integer, &error), ERROR_CONFIG);
    assert_string_equal(error.message, "'c' has no value here, in expression 'a + c'");
    assert_place(&error);
    expression_free(expression);
    bindings_release(&inner);
    bindings_release(&outer);
}

UNIT_TEST(reserved_names)
{
    static const char *const reserved[] = {"and", "or", "not",      "true", "false",
                                           "yes", "no", "ceil_div", "min",  "log2_ceil"};
    static const char *const usual[] = {"in", "end", "repeat", "nil", "android", "n", "minimum"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        assert_true(expression_reserves(reserved[i]));
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        assert_false(expression_reserves(usual[i]));
}

/* --- kinds --- */

/* The value of `text` as a whole number, as a real one and as a condition; "-" for none. */
UNIT_TEST(values_of_a_kind)
{
    static const struct {
        const char *text, *integer, *real, *boolean;
    } cases[] = {{"2^20", "1048576", "1048576", "-"},
                 {"-2^63", "-9223372036854775808", "-9.223372036854775808e+18", "-"},
                 {"n / 8", "125", "125", "-"},
                 {"n / 3", "-", "333.33333333333331", "-"},
                 {"2^63", "-", "9.2233720368547758e+18", "-"},
                 {"1e-5", "-", "1e-05", "-"},
                 {"finish", "-", "-", "-"},
                 {"flag", "-", "-", "true"},
                 {"n < 3", "-", "-", "false"},
                 {"yes", "-", "-", "true"},
                 {"on", "-", "-", "true"},
                 {"off or not on", "-", "-", "false"},
                 {"off == no and on != no and on == \"yes\"", "-", "-", "true"},
                 {"real and not unreal", "-", "-", "true"},
                 {"real == yes and on == (1 < 2)", "-", "-", "true"},
                 {"off != \"yes\" and off == (1 > 2)", "-", "-", "true"},
                 {"on ? off : on", "-", "-", "false"}};
    struct bindings bindings = names();
    bindings_set(&bindings, "on", value_word("yes")); /* a parameter may have such words */
    bindings_set(&bindings, "off", value_word("no"));
    bindings_set(&bindings, "real", value_word("true"));
    bindings_set(&bindings, "unreal", value_word("false"));
    struct scope scope = {&bindings, NULL};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct expression *expression = compile(cases[i].text);
        struct error error;
        int64_t integer;
        double real;
        bool boolean;
        char text[32] = "-";
        if (integer_of(expression, &scope, &integer, &error) == 0)
            (void)snprintf(text, sizeof text, "%" PRId64, integer);
        else
            assert_reason(&error, cases[i].text,
                          "it is not a whole number; // divides whole numbers, ceil_div(a, b) "
                          "rounds up");
        assert_string_equal(text, cases[i].integer);
        if (strcmp(cases[i].real, "-") != 0) {
            assert_int_equal(real_of(expression, &scope, &real, &error), 0);
            assert_true(real == strtod(cases[i].real, NULL));
        } else {
            assert_int_equal(real_of(expression, &scope, &real, &error), ERROR_CONFIG);
            assert_reason(&error, cases[i].text, "it is not a number");
        }
        if (expression_boolean(expression, &scope, &boolean, &error) == 0)
            assert_string_equal(boolean ? "true" : "false", cases[i].boolean);
        else
            assert_string_equal("-", cases[i].boolean);
        expression_free(expression);
    }
    bindings_release(&bindings);
}

UNIT_TEST(failures_show_the_values)
{
    struct bindings bindings = names();
    struct scope scope = {&bindings, NULL};
    struct error error;
    struct evaluation evaluation = {&scope, &error, 0};
    struct expression *expression = compile("n // (block_size - 256) + n");
    evaluation_refuse(&evaluation, expression, "not %s", "today");
    assert_int_equal(evaluation.status, ERROR_CONFIG);
    assert_string_equal(error.message, "cannot evaluate 'n // (block_size - 256) + n': not today "
                                       "(n = 1000, block_size = 256)");
    expression_free(expression);
    bindings_release(&bindings);
}

UNIT_TEST(values_in_the_order_of_the_names)
{
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

/* Of each text, its conditions with bars between them. */
UNIT_TEST(conditions_that_and_joins)
{
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

UNIT_TEST(threads_may_share_an_expression)
{
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

/* --- against a second opinion --- */

static uint32_t random_below(uint64_t *random, uint32_t bound)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*random >> 33) % bound;
}

__extension__ typedef __int128 wide; /* holds whatever two numbers of 64 bits yield */

/* A whole number and how to write it: made together, so that neither is computed from the other.
 * Priorities are those of docs/expressions.md; a part is in parentheses only if it must be. */
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

UNIT_TEST(sums_of_whole_numbers)
{
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
        int status = value_of(expression, &scope, &value, &error);
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
