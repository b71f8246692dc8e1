#include "template/expression.h"

#include "base/alloc.h"
#include "base/suggestion.h"
#include "template/expression_functions.h"
#include "template/expression_parser.h"
#include "template/expression_steps.h"
#include "template/expression_symbols.h"
#include "template/number.h"

#include <stdlib.h>
#include <string.h>

enum { EXPRESSION_VALUES_BYTES = 512 };

struct expression {
    char *text;
    char *expanded;   /* what is compiled; NULL: the text */
    const char *file; /* borrowed */
    int line;
    struct expression_names names;
    struct steps steps;
    struct value *rows; /* in place of the steps: a value for each name, in order; NULL: none */
    size_t row_count;
};

/* --- making --- */

static int parse(struct expression *expression, struct error *error)
{
    const char *text = expression_expanded(expression);
    struct error reason;
    if (strlen(text) > EXPRESSION_TEXT_LIMIT)
        return error_set_at(error, ERROR_CONFIG, expression->file, expression->line,
                            "expression is longer than %d bytes", EXPRESSION_TEXT_LIMIT);
    if (text[strspn(text, " \t")] == '\0')
        return error_set_at(error, ERROR_CONFIG, expression->file, expression->line,
                            "expression is empty");
    if (expression_parse(text, &expression->names, &expression->steps, &reason) == 0)
        return 0;
    return error_set_at(error, ERROR_CONFIG, expression->file, expression->line,
                        "cannot parse expression '%s': %s", expression->text, reason.message);
}

int expression_new(struct expression **expression, const char *text, const char *file, int line,
                   struct error *error)
{
    return expression_new_expanded(expression, text, NULL, file, line, error);
}

int expression_new_expanded(struct expression **expression, const char *text, const char *expanded,
                            const char *file, int line, struct error *error)
{
    struct expression *new = alloc_zeroed(1, sizeof *new);
    *expression = NULL;
    new->text = alloc_string(text);
    new->expanded = expanded != NULL ? alloc_string(expanded) : NULL;
    new->file = file;
    new->line = line;
    int status = parse(new, error);
    if (status == 0)
        *expression = new;
    else
        expression_free(new);
    return status;
}

/* Any order in which numbers of the same size are equal will do. */
static int order_rows(const void *left, const void *right, void *name_count)
{
    const struct value *a = left;
    const struct value *b = right;
    int order = 0;
    for (size_t i = 0; i < *(const size_t *)name_count && order == 0; i++) {
        if (number_is(&a[i]) && number_is(&b[i]))
            order = (int)number_order(&a[i], &b[i]) - (int)ORDER_EQUAL;
        else if (a[i].kind == VALUE_WORD && b[i].kind == VALUE_WORD)
            order = strcmp(a[i].as.word, b[i].as.word);
        else
            order = (int)number_is(&b[i]) - (int)number_is(&a[i]);
    }
    return order;
}

struct expression *expression_new_rows(const char *text, char *const *names, size_t name_count,
                                       struct value *const *rows, size_t row_count,
                                       const char *file, int line)
{
    struct expression *new = alloc_zeroed(1, sizeof *new);
    size_t row_bytes = name_count * sizeof(struct value);
    new->text = alloc_string(text);
    new->file = file;
    new->line = line;
    for (size_t i = 0; i < name_count; i++)
        *ARRAY_APPEND(new->names.items, new->names.count) = alloc_string(names[i]);
    new->rows = alloc_zeroed(row_count, row_bytes);
    new->row_count = row_count;
    for (size_t i = 0; i < row_count; i++)
        memcpy(new->rows + i *name_count, rows[i], row_bytes);
    qsort_r(new->rows, row_count, row_bytes, order_rows, &name_count);
    return new;
}

static bool is_row(const struct expression *expression, const struct value *const *values)
{
    struct value key[EXPRESSION_NAME_LIMIT];
    size_t count = expression->names.count;
    size_t low = 0;
    size_t high = expression->row_count;
    for (size_t i = 0; i < count; i++)
        key[i] = *values[i];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = order_rows(key, expression->rows + middle * count, &count);
        if (order == 0)
            return true;
        low = order > 0 ? middle + 1 : low;
        high = order < 0 ? middle : high;
    }
    return false;
}

void expression_free(struct expression *expression)
{
    if (expression == NULL)
        return;
    for (size_t i = 0; i < expression->names.count; i++)
        free(expression->names.items[i]);
    free(expression->names.items);
    steps_release(&expression->steps);
    free(expression->text);
    free(expression->expanded);
    free(expression->rows);
    free(expression);
}

/* --- text and names --- */

const char *expression_text(const struct expression *expression)
{
    return expression->text;
}

const char *expression_expanded(const struct expression *expression)
{
    return expression->expanded != NULL ? expression->expanded : expression->text;
}

size_t expression_name_count(const struct expression *expression)
{
    return expression->names.count;
}

const char *expression_name(const struct expression *expression, size_t index)
{
    return expression->names.items[index];
}

bool expression_uses(const struct expression *expression, const char *name)
{
    for (size_t i = 0; i < expression->names.count; i++)
        if (strcmp(expression->names.items[i], name) == 0)
            return true;
    return false;
}

bool expression_reserves(const char *name)
{
    bool truth;
    return expression_function_find(name) != NULL || symbol_unary(name) != NULL ||
           symbol_binary(name) != NULL || steps_truth(name, &truth);
}

/* Adds the condition from `begin` to `end` of the expression's text. */
static void add_condition(const struct expression *expression, const char *begin, const char *end,
                          struct expression ***conditions, size_t *count)
{
    char *text = alloc_string_n(begin, (size_t)(end - begin));
    (void)expression_new(ARRAY_APPEND(*conditions, *count), text, expression->file,
                         expression->line, NULL); /* which compiled as a part */
    free(text);
}

size_t expression_conditions(const struct expression *expression, struct expression ***conditions)
{
    const char *next = expression_expanded(expression);
    const char *begin = next;
    bool joined = true;
    size_t count = 0;
    int depth = 0;
    *conditions = NULL;
    while (*next != '\0' && joined) {
        const struct symbol *symbol = depth == 0 ? symbol_binary(next) : NULL;
        size_t length = symbol_name_length(next);
        if (symbol != NULL && symbol->operation == DO_AND) {
            add_condition(expression, begin, next, conditions, &count);
            begin = next + strlen(symbol->text);
        }
        joined = !(symbol != NULL && symbol->operation == DO_OR) && !(depth == 0 && *next == '?');
        depth += (*next == '(') - (*next == ')');
        if (*next == '"' || *next == '\'')
            length = strcspn(next + 1, "\"'") + 2;
        next += symbol != NULL ? strlen(symbol->text) : length > 0 ? length : 1;
    }
    if (count > 0 && joined)
        add_condition(expression, begin, next, conditions, &count);
    for (; count > 0 && !joined; count--)
        expression_free((*conditions)[count - 1]);
    return count;
}

static bool is_among(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

const struct value *scope_find(const struct scope *scope, const char *name)
{
    const struct value *value = NULL;
    for (; scope != NULL && value == NULL; scope = scope->outer)
        value = bindings_find(scope->bindings, name);
    return value;
}

int expression_check_names(const struct expression *expression, const char *const *known,
                           struct error *error)
{
    for (size_t i = 0; i < expression->names.count; i++)
        if (!is_among(expression->names.items[i], known))
            return suggestion_unknown(expression->file, expression->line, "name",
                                      expression->names.items[i], known, error);
    return 0;
}

/* --- evaluating --- */

/* Writes " (n = 1024, block_size = 64)", or nothing if it names nothing. */
static void write_values(const struct expression *expression, const struct value *const *values,
                         char text[EXPRESSION_VALUES_BYTES])
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < expression->names.count; i++) {
        char value[VALUE_TEXT_BYTES];
        value_text(*values[i], value);
        int more = snprintf(text + length, EXPRESSION_VALUES_BYTES - length, "%s%s = %s",
                            length == 0 ? " (" : ", ", expression->names.items[i], value);
        if (more < 0 || (size_t)more >= EXPRESSION_VALUES_BYTES - length - 1) {
            text[length] = '\0'; /* no room for it and the parenthesis */
            break;
        }
        length += (size_t)more;
    }
    if (length > 0)
        (void)snprintf(text + length, EXPRESSION_VALUES_BYTES - length, ")");
}

static int cannot_evaluate(const struct expression *expression, const struct value *const *values,
                           const char *reason, struct error *error)
{
    char text[EXPRESSION_VALUES_BYTES];
    write_values(expression, values, text);
    return error_set_at(error, ERROR_CONFIG, expression->file, expression->line,
                        "cannot evaluate '%s': %s%s", expression->text, reason, text);
}

/* `values[i]` is that of name i, NULL if it has none. */
static int evaluate(const struct expression *expression, const struct value *const *values,
                    struct value *value, struct error *error)
{
    struct error reason;
    for (size_t i = 0; i < expression->names.count; i++)
        if (values[i] == NULL)
            return error_set_at(error, ERROR_CONFIG, expression->file, expression->line,
                                "'%s' has no value here, in expression '%s'",
                                expression->names.items[i], expression->text);
    if (expression->rows != NULL) {
        *value = value_boolean(is_row(expression, values));
        return 0;
    }
    int status = steps_run(&expression->steps, values, value, &reason);
    return status == 0 ? 0 : cannot_evaluate(expression, values, reason.message, error);
}

static void find_values(const struct expression *expression, const struct scope *scope,
                        const struct value *values[EXPRESSION_NAME_LIMIT])
{
    for (size_t i = 0; i < expression->names.count; i++)
        values[i] = scope_find(scope, expression->names.items[i]);
}

int expression_value(const struct expression *expression, const struct scope *scope,
                     struct value *value, struct error *error)
{
    const struct value *values[EXPRESSION_NAME_LIMIT];
    find_values(expression, scope, values);
    return evaluate(expression, values, value, error);
}

int expression_refuse(const struct expression *expression, const struct scope *scope,
                      const char *reason, struct error *error)
{
    const struct value *values[EXPRESSION_NAME_LIMIT];
    find_values(expression, scope, values);
    return cannot_evaluate(expression, values, reason, error);
}

int expression_integer(const struct expression *expression, const struct scope *scope,
                       int64_t *integer, struct error *error)
{
    struct value value;
    int status = expression_value(expression, scope, &value, error);
    if (status != 0)
        return status;
    if (!number_whole(&value, integer))
        return expression_refuse(expression, scope,
                                 "it is not a whole number; // divides whole numbers, "
                                 "ceil_div(a, b) rounds up",
                                 error);
    return 0;
}

int expression_real(const struct expression *expression, const struct scope *scope, double *real,
                    struct error *error)
{
    struct value value;
    int status = expression_value(expression, scope, &value, error);
    if (status != 0)
        return status;
    if (!number_is(&value))
        return expression_refuse(expression, scope, "it is not a number", error);
    *real = number_real(&value);
    return 0;
}

static int as_boolean(const struct expression *expression, const struct value *const *values,
                      const struct value *value, bool *boolean, struct error *error)
{
    struct error reason;
    if (steps_condition(value, boolean))
        return 0;
    (void)steps_not_a_condition(expression->text, strlen(expression->text), value, &reason);
    return cannot_evaluate(expression, values, reason.message, error);
}

int expression_boolean(const struct expression *expression, const struct scope *scope,
                       bool *boolean, struct error *error)
{
    const struct value *values[EXPRESSION_NAME_LIMIT];
    find_values(expression, scope, values);
    return expression_boolean_of(expression, values, boolean, error);
}

int expression_boolean_of(const struct expression *expression, const struct value *const *values,
                          bool *boolean, struct error *error)
{
    struct value value;
    int status = evaluate(expression, values, &value, error);
    return status != 0 ? status : as_boolean(expression, values, &value, boolean, error);
}
