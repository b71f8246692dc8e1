#include "template/expression.h"

#include <stddef.h>

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

int expression_value(const struct expression *expression, const struct scope *scope,
                     struct value *value, struct error *error)
{
    const struct value *values[EXPRESSION_NAME_LIMIT];
    find_values(expression, scope, values);
    return expression_value_of(expression, values, value, error);
}

int expression_refuse(const struct expression *expression, const struct scope *scope,
                      const char *reason, struct error *error)
{
    const struct value *values[EXPRESSION_NAME_LIMIT];
    find_values(expression, scope, values);
    return expression_refuse_of(expression, values, reason, error);
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

int expression_boolean(const struct expression *expression, const struct scope *scope,
                       bool *boolean, struct error *error)
{
    const struct value *values[EXPRESSION_NAME_LIMIT];
    find_values(expression, scope, values);
    return expression_boolean_of(expression, values, boolean, error);
}
