#include "template/sweep_values.h"

#include "base/alloc.h"
#include "template/expression.h"
#include "template/value_list.h"

#include <stdlib.h>
#include <string.h>

enum { PROBLEM_LIMIT = 1024 };

/* What a kernel's values are read from. */
struct reading {
    const struct sweep_section *section;
    struct sweep_values *values;
    struct sweep_statements statements;
    struct error *error;
};

/* --- values --- */

/* The list of a parameter or problem value, which is `*parameter` then. */
static struct value_list *list_of(const struct reading *reading, const char *name,
                                  const struct parameter **parameter)
{
    const struct template *template = reading->section->template;
    *parameter = template_parameter(template, name);
    if (*parameter != NULL)
        return &reading->values->parameters[*parameter - template->parameters];
    *parameter = template_problem_value(template, name);
    return *parameter != NULL ? &reading->values->problem[*parameter - template->problem] : NULL;
}

/* "(512, 64)": a value for each name, added to their lists. */
static int read_row(struct reading *reading, struct sweep_statement *statement, const char *text)
{
    char **texts = NULL;
    size_t length = strlen(text);
    char *inner = sweep_statement_is_tuple(text) ? alloc_string_n(text + 1, length - 2) : NULL;
    size_t count = inner != NULL ? text_split(inner, ',', &texts) : 0;
    struct value *row = alloc_zeroed(statement->name_count, sizeof *row);
    int status = 0;
    *ARRAY_APPEND(statement->rows, statement->row_count) = row;
    if (count != statement->name_count)
        status = sweep_statement_fail(statement,
                                      "'%s' does not have a value for each name, as in (64, 128)",
                                      text, reading->error);
    for (size_t i = 0; i < count && status == 0; i++) {
        const struct parameter *parameter;
        struct value_list *list = list_of(reading, statement->names[i], &parameter);
        struct error reason;
        struct value value;
        if (value_parse(texts[i], &value, &reason) != 0)
            status = sweep_statement_fail(statement, "%s", reason.message, reading->error);
        else
            status =
                parameter_check(parameter, value, statement->file, statement->line, reading->error);
        if (status == 0)
            row[i] = value_list_add(list, value);
    }
    text_split_release(texts, count);
    free(inner);
    return status;
}

/* Whether the last row is a row before it. */
static bool repeats(const struct sweep_statement *statement)
{
    bool same = false;
    for (size_t row = 0; row + 1 < statement->row_count && !same; row++) {
        same = true;
        for (size_t i = 0; i < statement->name_count && same; i++)
            same =
                value_equal(statement->rows[row][i], statement->rows[statement->row_count - 1][i]);
    }
    return same;
}

static int read_rows(struct reading *reading, struct sweep_statement *statement)
{
    char **texts;
    size_t count = text_split(statement->value, ',', &texts);
    int status = count > 0 ? 0
                           : sweep_statement_fail(statement, "'%s' has no values", statement->key,
                                                  reading->error);
    for (size_t i = 0; i < count && status == 0; i++) {
        status = read_row(reading, statement, texts[i]);
        if (status == 0 && repeats(statement))
            status = sweep_statement_fail(statement, "'%s' is given twice; remove one", texts[i],
                                          reading->error);
    }
    text_split_release(texts, count);
    return status;
}

static int read_list(struct reading *reading, const struct sweep_statement *statement)
{
    const struct parameter *parameter;
    struct value_list *list = list_of(reading, statement->names[0], &parameter);
    if (list == NULL) /* another kernel's */
        return 0;
    int status =
        value_list_parse(list, statement->value, statement->file, statement->line, reading->error);
    for (size_t i = 0; i < list->count && status == 0; i++)
        status = parameter_check(parameter, list->values[i], statement->file, statement->line,
                                 reading->error);
    return status;
}

static int read_statement(struct reading *reading, struct sweep_statement *statement)
{
    if (statement->name_count == 0 ||
        !sweep_statement_concerns(statement, reading->section->template))
        return 0;
    return sweep_statement_is_tuple(statement->key) ? read_rows(reading, statement)
                                                    : read_list(reading, statement);
}

static void add_defaults(const struct parameter *parameters, size_t count, struct value_list *lists)
{
    for (size_t i = 0; i < count; i++)
        if (lists[i].count == 0)
            value_list_single(&lists[i], parameters[i].fallback);
}

/* --- tuples of parameters --- */

/* A constraint for each prefix, so that enumerating turns back early. */
static int add_constraints(struct reading *reading, const struct sweep_statement *statement)
{
    struct sweep_values *values = reading->values;
    if (statement->row_count == 0 ||
        template_parameter(reading->section->template, statement->names[0]) == NULL)
        return 0;
    if (statement->name_count > EXPRESSION_NAME_LIMIT)
        return sweep_statement_fail(statement, "tuple '%s' has more than 32 names", statement->key,
                                    reading->error);
    for (size_t names = 2; names <= statement->name_count; names++) {
        char *text =
            alloc_format("%s %s one of %zu tuples", statement->key,
                         names < statement->name_count ? "begins as" : "is", statement->row_count);
        int status =
            expression_new_rows(ARRAY_APPEND(values->constraints, values->constraint_count), text,
                                statement->names, names, statement->rows, statement->row_count,
                                statement->file, statement->line, reading->error);
        free(text);
        if (status != 0)
            return status;
    }
    return 0;
}

/* --- problems --- */

static const struct sweep_statement *tuple_of(const struct reading *reading, const char *name)
{
    for (size_t i = 0; i < reading->statements.count; i++)
        if (reading->statements.items[i].row_count > 0 &&
            sweep_statement_names(&reading->statements.items[i], name))
            return &reading->statements.items[i];
    return NULL;
}

/* How many choices a problem value adds: those of a tuple once, with its first name. */
static size_t choices(const struct reading *reading, size_t index)
{
    const struct template *template = reading->section->template;
    const struct sweep_statement *tuple = tuple_of(reading, template->problem[index].name);
    if (tuple == NULL)
        return reading->values->problem[index].count;
    for (size_t i = 0; i < index; i++)
        if (sweep_statement_names(tuple, template->problem[i].name))
            return 1;
    return tuple->row_count;
}

static void bind_tuple(const struct sweep_statement *tuple, size_t row, struct bindings *problem)
{
    for (size_t i = 0; i < tuple->name_count; i++)
        bindings_set(problem, tuple->names[i], tuple->rows[row][i]);
}

/* Problem `number`, its values in the template's order; the last varies fastest. */
static void make_problem(const struct reading *reading, size_t number, size_t count,
                         struct bindings *problem)
{
    const struct template *template = reading->section->template;
    for (size_t i = 0; i < template->problem_count; i++) /* fixes the order */
        bindings_set(problem, template->problem[i].name, value_integer(0));
    for (size_t i = 0; i < template->problem_count; i++) {
        const char *name = template->problem[i].name;
        const struct sweep_statement *tuple = tuple_of(reading, name);
        size_t own = choices(reading, i);
        count /= own;
        size_t choice = number / count % own;
        if (tuple == NULL)
            bindings_set(problem, name, reading->values->problem[i].values[choice]);
        else if (own > 1 || tuple->row_count == 1)
            bind_tuple(tuple, choice, problem);
    }
}

static int combine_problems(const struct reading *reading)
{
    const struct sweep_section *section = reading->section;
    struct sweep_values *values = reading->values;
    size_t count = 1;
    for (size_t i = 0; i < section->template->problem_count; i++) {
        count *= choices(reading, i);
        if (count > PROBLEM_LIMIT)
            return error_set_at(reading->error, ERROR_CONFIG, section->path, section->line,
                                "'%s' has more than 1024 problems; split the sweep",
                                section->label);
    }
    values->problems = alloc_zeroed(count, sizeof *values->problems);
    values->problem_count = count;
    for (size_t i = 0; i < count; i++)
        make_problem(reading, i, count, &values->problems[i]);
    return 0;
}

/* --- a kernel --- */

int sweep_values_read(struct sweep_values *values, const struct sweep_section *section,
                      struct error *error)
{
    const struct template *template = section->template;
    struct reading reading = {.section = section, .values = values, .error = error};
    *values = (struct sweep_values){
        .parameters = alloc_zeroed(template->parameter_count, sizeof *values->parameters),
        .problem = alloc_zeroed(template->problem_count, sizeof *values->problem)};
    int status = sweep_statements_collect(&reading.statements, section, error);
    for (size_t i = 0; i < reading.statements.count && status == 0; i++)
        status = read_statement(&reading, &reading.statements.items[i]);
    add_defaults(template->parameters, template->parameter_count, values->parameters);
    add_defaults(template->problem, template->problem_count, values->problem);
    for (size_t i = 0; i < reading.statements.count && status == 0; i++)
        status = add_constraints(&reading, &reading.statements.items[i]);
    if (status == 0)
        status = combine_problems(&reading);
    sweep_statements_release(&reading.statements);
    return status;
}

bool sweep_values_concern(const struct template *template, const char *setting)
{
    struct sweep_statements statements;
    sweep_statements_of_setting(&statements, setting);
    bool concern = sweep_statement_concerns(statements.items, template);
    sweep_statements_release(&statements);
    return concern;
}

int sweep_values_unknown(const struct template *template, const char *setting, struct error *error)
{
    struct sweep_statements statements;
    sweep_statements_of_setting(&statements, setting);
    (void)sweep_statement_unknown(statements.items, template, statements.items->key, error);
    if (error != NULL)
        error->code = ERROR_USAGE;
    sweep_statements_release(&statements);
    return ERROR_USAGE;
}
