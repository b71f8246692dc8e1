/* A sweep's space for the tests of the search: parameters pa, pb, pc, … with lists of values, and constraints. */
#ifndef AUTOTUNE_TESTS_SEARCH_FIELD_H
#define AUTOTUNE_TESTS_SEARCH_FIELD_H

#include "base/alloc.h"
#include "search/search_space.h"

#include "unit/test.h"

#define FIELD_PARAMETERS 16
#define FIELD_CONSTRAINTS 4

struct field {
    struct template template;
    struct parameter parameters[FIELD_PARAMETERS];
    char names[FIELD_PARAMETERS][3];
    struct value_list values[FIELD_PARAMETERS];
    struct expression *constraints[FIELD_CONSTRAINTS];
    size_t constraint_count;
    struct bindings fixed;
    struct search_space *space;
};

static inline void field_release(struct field *field)
{
    search_space_free(field->space);
    for (size_t i = 0; i < field->constraint_count; i++)
        expression_free(field->constraints[i]);
    for (size_t i = 0; i < field->template.parameter_count; i++)
        value_list_release(&field->values[i]);
    *field = (struct field){0};
}

static inline void add_parameter(struct field *field, const char *list)
{
    size_t index = field->template.parameter_count++;
    struct error error;
    field->names[index][0] = 'p';
    field->names[index][1] = (char)('a' + (int)index);
    field->parameters[index].name = field->names[index];
    field->parameters[index].compiled = true;
    assert_int_equal(value_list_parse(&field->values[index], list, "s.ini", 1, &error), 0);
}

static inline void add_constraint(struct field *field, const char *text)
{
    struct error error;
    if (expression_new(&field->constraints[field->constraint_count], text, "s.ini",
                       (int)field->constraint_count + 10, &error) != 0)
        fail_msg("'%s': %s", text, error.message);
    field->constraint_count++;
}

static inline struct search_space *open_space(struct field *field)
{
    field->template.parameters = field->parameters;
    field->space = search_space_new(&field->template, field->values,
                                    (const struct expression *const *)field->constraints,
                                    field->constraint_count, &field->fixed);
    return field->space;
}

/* A new field is the test's state. */
static inline int make_field(void **state)
{
    *state = alloc_zeroed(1, sizeof(struct field));
    return 0;
}

static inline int free_field(void **state)
{
    field_release(*state);
    free(*state);
    return 0;
}

#endif
