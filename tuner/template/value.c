#include "template/value.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void value_release(struct value value)
{
    if (value.kind == VALUE_WORD)
        free((void *)(uintptr_t)value.as.word);
}

void bindings_set(struct bindings *bindings, const char *name, struct value value)
{
    struct value copy = value;
    if (value.kind == VALUE_WORD)
        copy.as.word = alloc_string(value.as.word);
    for (size_t i = 0; i < bindings->count; i++) {
        if (strcmp(bindings->items[i].name, name) == 0) {
            value_release(bindings->items[i].value);
            bindings->items[i].value = copy;
            return;
        }
    }
    struct binding *binding = ARRAY_APPEND(bindings->items, bindings->count);
    binding->name = alloc_string(name);
    binding->value = copy;
}

const struct value *bindings_find(const struct bindings *bindings, const char *name)
{
    for (size_t i = 0; i < bindings->count; i++) {
        const char *other = bindings->items[i].name;
        if (other[0] == name[0] && strcmp(other, name) == 0)
            return &bindings->items[i].value;
    }
    return NULL;
}

void bindings_append(struct bindings *to, const struct bindings *from)
{
    for (size_t i = 0; i < from->count; i++)
        bindings_set(to, from->items[i].name, from->items[i].value);
}

void bindings_copy(struct bindings *to, const struct bindings *from)
{
    bindings_release(to);
    bindings_append(to, from);
}

bool bindings_equal(const struct bindings *a, const struct bindings *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i].name, b->items[i].name) != 0 ||
            !value_equal(a->items[i].value, b->items[i].value))
            return false;
    return true;
}

static bool have_same(const struct bindings *a, const struct bindings *b,
                      bool (*same)(struct value, struct value))
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct value *other = bindings_find(b, a->items[i].name);
        if (other == NULL || !same(a->items[i].value, *other))
            return false;
    }
    return true;
}

bool bindings_match(const struct bindings *a, const struct bindings *b)
{
    return have_same(a, b, value_equal);
}

bool bindings_alike(const struct bindings *a, const struct bindings *b)
{
    return have_same(a, b, value_alike);
}

void bindings_release(struct bindings *bindings)
{
    for (size_t i = 0; i < bindings->count; i++) {
        free(bindings->items[i].name);
        value_release(bindings->items[i].value);
    }
    free(bindings->items);
    *bindings = (struct bindings){0};
}

char *bindings_text(const struct bindings *bindings)
{
    char buffer[VALUE_TEXT_BYTES];
    char *text = alloc_string("");
    for (size_t i = 0; i < bindings->count; i++)
        alloc_append(&text, "%s%s=%s", i > 0 ? " " : "", bindings->items[i].name,
                     value_exact_text(bindings->items[i].value, buffer));
    return text;
}

static json_t *value_to_json(struct value value)
{
    switch (value.kind) {
    case VALUE_INTEGER:
        return json_integer(value.as.integer);
    case VALUE_REAL:
        return json_real(value.as.real);
    case VALUE_WORD:
        return json_string(value.as.word);
    case VALUE_BOOLEAN:
        return json_boolean(value.as.boolean);
    }
    return json_null();
}

json_t *bindings_to_json(const struct bindings *bindings)
{
    json_t *object = json_object();
    for (size_t i = 0; i < bindings->count; i++)
        json_object_set_new(object, bindings->items[i].name,
                            value_to_json(bindings->items[i].value));
    return object;
}

char *bindings_json_text(const struct bindings *bindings)
{
    json_t *object = bindings_to_json(bindings);
    char *text = json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(object);
    if (text == NULL)
        abort(); /* jansson's own way of saying out of memory */
    return text;
}

int bindings_from_json(struct bindings *bindings, const json_t *object, struct error *error)
{
    const char *name;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)object, name, member)
    {
        struct value value;
        if (json_is_integer(member))
            value = value_integer(json_integer_value(member));
        else if (json_is_real(member))
            value = value_real(json_real_value(member));
        else if (json_is_string(member) && json_string_length(member) < VALUE_TEXT_BYTES)
            value = value_word(json_string_value(member));
        else if (json_is_boolean(member))
            value = value_boolean(json_boolean_value(member));
        else
            return error_set(error, ERROR_RECORD,
                             "member '%s' is neither a number, a word nor a boolean", name);
        bindings_set(bindings, name, value);
    }
    return 0;
}

/* --- expressions --- */

const struct value *scope_find(const struct scope *scope, const char *name)
{
    const struct value *value = NULL;
    for (; scope != NULL && value == NULL; scope = scope->outer)
        value = bindings_find(scope->bindings, name);
    return value;
}

static void find_values(const struct expression *expression, const struct scope *scope,
                        const struct value *values[EXPRESSION_NAME_LIMIT])
{
    for (size_t i = 0; i < expression_name_count(expression); i++)
        values[i] = scope_find(scope, expression_name(expression, i));
}

int expression_boolean(const struct expression *expression, const struct scope *scope,
                       bool *boolean, struct error *error)
{
    const struct value *values[EXPRESSION_NAME_LIMIT];
    find_values(expression, scope, values);
    return expression_boolean_of(expression, values, boolean, error);
}

struct value evaluate_value(struct evaluation *evaluation, const struct expression *expression,
                            struct value otherwise)
{
    const struct value *values[EXPRESSION_NAME_LIMIT];
    struct value value = otherwise;
    if (evaluation->status != 0 || expression == NULL)
        return otherwise;
    find_values(expression, evaluation->scope, values);
    evaluation->status = expression_value_of(expression, values, &value, evaluation->error);
    return evaluation->status == 0 ? value : otherwise;
}

int64_t evaluate_integer(struct evaluation *evaluation, const struct expression *expression,
                         int64_t otherwise)
{
    const struct value value = evaluate_value(evaluation, expression, value_integer(otherwise));
    int64_t integer = otherwise;
    if (!number_whole(&value, &integer))
        evaluation_refuse(evaluation, expression,
                          "it is not a whole number; // divides whole numbers, ceil_div(a, b) "
                          "rounds up");
    return integer;
}

double evaluate_real(struct evaluation *evaluation, const struct expression *expression,
                     double otherwise)
{
    const struct value value = evaluate_value(evaluation, expression, value_real(otherwise));
    if (number_is(&value))
        return number_real(&value);
    evaluation_refuse(evaluation, expression, "it is not a number");
    return otherwise;
}

bool evaluate_boolean(struct evaluation *evaluation, const struct expression *expression,
                      bool otherwise)
{
    bool boolean = otherwise;
    if (evaluation->status == 0 && expression != NULL)
        evaluation->status =
            expression_boolean(expression, evaluation->scope, &boolean, evaluation->error);
    return evaluation->status == 0 ? boolean : otherwise;
}

void evaluation_refuse(struct evaluation *evaluation, const struct expression *expression,
                       const char *format, ...)
{
    const struct value *values[EXPRESSION_NAME_LIMIT];
    char reason[192];
    va_list arguments;
    if (evaluation->status != 0)
        return;
    va_start(arguments, format);
    (void)vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    find_values(expression, evaluation->scope, values);
    evaluation->status = expression_refuse_of(expression, values, reason, evaluation->error);
}
