/* Expressions, with values for the names they use. */
#include "fuzz.h"
#include "template/value.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"n", "block_size", "num_load", "x", "finish", "on", NULL};

static void fill(struct bindings *bindings)
{
    bindings_set(bindings, "n", value_integer(INT64_MAX));
    bindings_set(bindings, "block_size", value_integer(256));
    bindings_set(bindings, "num_load", value_integer(-3));
    bindings_set(bindings, "x", value_real(0.5));
    bindings_set(bindings, "finish", value_word("two_pass"));
    bindings_set(bindings, "on", value_boolean(true));
}

/* The way without look-ups must say the same. */
static void evaluate_fast(const struct expression *expression, const struct bindings *bindings,
                          int expected_status, bool expected)
{
    const struct value *values[64];
    struct error error = {0};
    bool boolean = false;
    for (size_t i = 0; i < expression_name_count(expression); i++)
        values[i] = bindings_find(bindings, expression_name(expression, i));
    int status = expression_boolean_of(expression, values, &boolean, &error);
    FUZZ_REQUIRE(status == expected_status && (status != 0 || boolean == expected));
}

static void evaluate(const struct expression *expression, const struct scope *scope)
{
    struct error error = {0};
    struct evaluation evaluation = {scope, &error, 0};
    bool boolean = false;
    struct value value = evaluate_value(&evaluation, expression, value_integer(0));
    int status = evaluation.status;
    FUZZ_REQUIRE(status == 0 || (status == ERROR_CONFIG && error.message[0] != '\0'));
    if (status == 0 && value.kind == VALUE_WORD)
        FUZZ_REQUIRE(strlen(value.as.word) < SIZE_MAX);
    (void)evaluate_integer(&evaluation, expression, 0);
    (void)evaluate_real(&evaluation, expression, 0);
    status = expression_boolean(expression, scope, &boolean, &error);
    evaluate_fast(expression, scope->bindings, status, boolean);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bindings bindings = {0};
    struct expression *expression = NULL;
    struct error error = {0};
    char *text = fuzz_text(data, size);
    int status = expression_new(&expression, text, "sweep.ini", 1, &error);
    FUZZ_REQUIRE(status == 0 || (status == ERROR_CONFIG && error.message[0] != '\0'));
    if (status == 0) {
        struct scope scope = {.bindings = &bindings};
        fill(&bindings);
        (void)expression_check_names(expression, names, &error);
        evaluate(expression, &scope);
        expression_free(expression);
        bindings_release(&bindings);
    }
    free(text);
    return 0;
}
