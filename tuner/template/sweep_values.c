#include "template/sweep.h"

#include "base/alloc.h"
#include "base/suggestion.h"
#include "template/value.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { PROBLEM_LIMIT = 1024 };

/* "names = values" of the section, or of the command line. */
struct statement {
    char *key;
    char **names; /* none: the command line replaces it */
    size_t name_count;
    const char *value;
    int line;            /* 0: of the command line */
    struct value **rows; /* of a tuple: a value for each name; words belong to the lists */
    size_t row_count;
};

/* After the first failure, everything here does nothing. */
struct reading {
    struct sweep_kernel *kernel;
    const char *path; /* of the sweep */
    struct statement *statements;
    size_t count;
    struct error *error;
    int status;
};

static const char *file_of(const struct reading *reading, const struct statement *statement)
{
    return statement->line > 0 ? reading->path : "--set";
}

/* `format` has one %s, for `subject`. */
static void fail(struct reading *reading, const struct statement *statement, const char *format,
                 const char *subject)
{
    if (reading->status == 0)
        reading->status = error_set_at(reading->error, ERROR_CONFIG, file_of(reading, statement),
                                       statement->line, format, subject);
}

/* --- statements --- */

bool sweep_is_tuple(const char *text)
{
    size_t length = strlen(text);
    return length > 2 && text[0] == '(' && text[length - 1] == ')';
}

static size_t split_tuple(const char *text, char ***parts)
{
    char *inner = alloc_string_n(text + 1, strlen(text) - 2);
    size_t count = text_split(inner, ',', parts);
    free(inner);
    return count;
}

/* Sets key and names. */
static void name_statement(struct statement *statement, const char *key, size_t length)
{
    while (length > 0 && isspace((unsigned char)key[length - 1]))
        length--;
    statement->key = alloc_string_n(key, length);
    statement->name_count = sweep_is_tuple(statement->key)
                                ? split_tuple(statement->key, &statement->names)
                                : text_split(statement->key, '\0', &statement->names);
}

static void release_names(struct statement *statement)
{
    free(statement->names);
    statement->names = NULL;
    statement->name_count = 0;
}

static void statement_release(struct statement *statement)
{
    for (size_t row = 0; row < statement->row_count; row++)
        free(statement->rows[row]);
    free(statement->rows);
    release_names(statement);
    free(statement->key);
}

static bool has_name(const struct statement *statement, const char *name)
{
    for (size_t i = 0; i < statement->name_count; i++)
        if (strcmp(statement->names[i], name) == 0)
            return true;
    return false;
}

/* Whether it names anything that the template has. */
static bool concerns(const struct statement *statement, const struct template *template)
{
    for (size_t i = 0; i < statement->name_count; i++)
        if (template_value(template, statement->names[i]) != NULL)
            return true;
    return false;
}

static int unknown_name(const struct template *template, const char *file, int line,
                        const char *name, struct error *error)
{
    struct names names = {0};
    template_add_names(template, &names);
    int status =
        suggestion_unknown(file, line, "parameter or problem value", name, names.items, error);
    free(names.items);
    return status;
}

int sweep_check_settings(const struct sweep *sweep, const char *const *settings,
                         struct error *error)
{
    int status = 0;
    for (; settings != NULL && *settings != NULL && status == 0; settings++) {
        struct statement statement = {0};
        bool known = false;
        name_statement(&statement, *settings, strcspn(*settings, "="));
        for (size_t i = 0; i < sweep->kernel_count; i++)
            known = known || concerns(&statement, &sweep->kernels[i].template);
        if (!known) {
            (void)unknown_name(&sweep->kernels[0].template, "--set", 0, statement.key, error);
            status = ERROR_USAGE;
            if (error != NULL)
                error->code = ERROR_USAGE;
        }
        statement_release(&statement);
    }
    return status;
}

/* Each name is there, once, and they are all parameters or all values of the problem. */
static void check_names(struct reading *reading, const struct statement *statement)
{
    const struct template *template = &reading->kernel->template;
    if (statement->name_count == 0)
        fail(reading, statement, "'%s' names nothing", statement->key);
    for (size_t i = 0; i < statement->name_count && reading->status == 0; i++) {
        const char *name = statement->names[i];
        if (template_value(template, name) == NULL)
            reading->status = unknown_name(template, file_of(reading, statement), statement->line,
                                           name, reading->error);
        if ((template_parameter(template, name) != NULL) !=
            (template_parameter(template, statement->names[0]) != NULL))
            fail(reading, statement,
                 "'%s' mixes parameters and problem values; write a tuple for each",
                 statement->key);
        for (size_t j = 0; j < i; j++)
            if (strcmp(statement->names[j], name) == 0)
                fail(reading, statement, "'%s' is given twice", name);
    }
}

/* Each name is given once. The command line's statement replaces the section's that shares a name, if it
 * has all of its names. */
static void settle(struct reading *reading, struct statement *later)
{
    for (struct statement *earlier = reading->statements; earlier < later; earlier++)
        for (size_t i = 0; i < later->name_count && reading->status == 0; i++) {
            if (!has_name(earlier, later->names[i]))
                continue;
            if (earlier->line > 0 || later->line == 0)
                fail(reading, later, "'%s' is given twice", later->names[i]);
            for (size_t j = 0; j < later->name_count; j++)
                if (!has_name(earlier, later->names[j]))
                    fail(reading, earlier, "the sweep has tuples of '%s'; set all of their names",
                         later->key);
            if (reading->status == 0)
                release_names(later);
        }
}

/* The command line's come first. */
static void collect(struct reading *reading, const struct ini_file *ini,
                    const char *const *settings)
{
    const struct template *template = &reading->kernel->template;
    for (; settings != NULL && *settings != NULL; settings++) {
        const char *equals = strchr(*settings, '=');
        if (equals == NULL) {
            reading->status = error_set(
                reading->error, ERROR_USAGE,
                "--set '%s' has no value; write it like --set block_size=64,128", *settings);
            return;
        }
        struct statement *statement = ARRAY_APPEND(reading->statements, reading->count);
        name_statement(statement, *settings, (size_t)(equals - *settings));
        statement->value = equals + 1;
    }
    for (size_t i = 0; i < ini->count; i++) {
        const struct ini_entry *entry = &ini->entries[i];
        if (entry->key == NULL || strcmp(entry->section, reading->kernel->label) != 0 ||
            !(sweep_is_tuple(entry->key) || template_value(template, entry->key) != NULL))
            continue;
        struct statement *statement = ARRAY_APPEND(reading->statements, reading->count);
        name_statement(statement, entry->key, strlen(entry->key));
        statement->value = entry->value;
        statement->line = entry->line;
    }
    for (size_t i = 0; i < reading->count; i++) {
        struct statement *statement = &reading->statements[i];
        if (statement->line > 0 || concerns(statement, template))
            check_names(reading, statement);
        settle(reading, statement);
    }
}

/* --- values --- */

/* The list of a parameter or problem value, which is `*parameter` then. */
static struct value_list *list_of(const struct sweep_kernel *kernel, const char *name,
                                  const struct parameter **parameter)
{
    const struct template *template = &kernel->template;
    *parameter = template_parameter(template, name);
    if (*parameter != NULL)
        return &kernel->values[*parameter - template->parameters];
    *parameter = template_problem_value(template, name);
    return *parameter != NULL ? &kernel->problem_values[*parameter - template->problem] : NULL;
}

static void check_value(struct reading *reading, const struct statement *statement,
                        const struct parameter *parameter, struct value value)
{
    if (reading->status == 0)
        reading->status = parameter_check(parameter, value, file_of(reading, statement),
                                          statement->line, reading->error);
}

/* "(512, 64)": a value for each name, added to their lists. */
static void read_row(struct reading *reading, struct statement *statement, const char *text)
{
    char **texts = NULL;
    size_t count = sweep_is_tuple(text) ? split_tuple(text, &texts) : 0;
    struct value *row = alloc_zeroed(statement->name_count, sizeof *row);
    *ARRAY_APPEND(statement->rows, statement->row_count) = row;
    if (count != statement->name_count)
        fail(reading, statement, "'%s' does not have a value for each name, as in (64, 128)", text);
    for (size_t i = 0; i < count && reading->status == 0; i++) {
        const struct parameter *parameter;
        struct value_list *list = list_of(reading->kernel, statement->names[i], &parameter);
        struct error reason;
        struct value value;
        if (value_parse(texts[i], &value, &reason) != 0)
            fail(reading, statement, "%s", reason.message);
        else
            check_value(reading, statement, parameter, value);
        if (reading->status == 0)
            row[i] = value_list_add(list, value);
    }
    free(texts);
}

/* Whether the last row is a row before it. */
static bool repeats(const struct statement *statement)
{
    const struct value *last = statement->rows[statement->row_count - 1];
    for (size_t row = 0; row + 1 < statement->row_count; row++) {
        size_t same = 0;
        while (same < statement->name_count && value_equal(statement->rows[row][same], last[same]))
            same++;
        if (same == statement->name_count)
            return true;
    }
    return false;
}

static void read_rows(struct reading *reading, struct statement *statement)
{
    char **texts;
    size_t count = text_split(statement->value, ',', &texts);
    if (count == 0)
        fail(reading, statement, "'%s' has no values", statement->key);
    for (size_t i = 0; i < count && reading->status == 0; i++) {
        read_row(reading, statement, texts[i]);
        if (repeats(statement))
            fail(reading, statement, "'%s' is given twice; remove one", texts[i]);
    }
    free(texts);
}

static void read_list(struct reading *reading, const struct statement *statement)
{
    const struct parameter *parameter;
    struct value_list *list = list_of(reading->kernel, statement->names[0], &parameter);
    reading->status = value_list_parse(list, statement->value, file_of(reading, statement),
                                       statement->line, reading->error);
    for (size_t i = 0; i < list->count; i++)
        check_value(reading, statement, parameter, list->values[i]);
}

static void add_defaults(const struct parameter *parameters, size_t count, struct value_list *lists)
{
    for (size_t i = 0; i < count; i++)
        if (lists[i].count == 0)
            (void)value_list_add(&lists[i], parameters[i].fallback);
}

/* A tuple of parameters is a constraint for each prefix, so that enumerating turns back early. */
static void add_constraints(struct reading *reading, const struct statement *statement)
{
    struct sweep_kernel *kernel = reading->kernel;
    if (statement->row_count == 0 ||
        template_parameter(&kernel->template, statement->names[0]) == NULL)
        return;
    if (statement->name_count > EXPRESSION_NAME_LIMIT)
        fail(reading, statement, "tuple '%s' has more than 32 names", statement->key);
    for (size_t names = 2; names <= statement->name_count && reading->status == 0; names++) {
        char *text =
            alloc_format("%s %s one of %zu tuples", statement->key,
                         names < statement->name_count ? "begins as" : "is", statement->row_count);
        reading->status = expression_new_rows(
            ARRAY_APPEND(kernel->own_constraints, kernel->own_constraint_count), text,
            statement->names, names, statement->rows, statement->row_count,
            file_of(reading, statement), statement->line, reading->error);
        free(text);
    }
}

/* --- problems --- */

static const struct statement *tuple_of(const struct reading *reading, const char *name)
{
    for (size_t i = 0; i < reading->count; i++)
        if (reading->statements[i].row_count > 0 && has_name(&reading->statements[i], name))
            return &reading->statements[i];
    return NULL;
}

/* How many choices a problem value adds: those of a tuple once, with its first name. */
static size_t choices(const struct reading *reading, size_t index)
{
    const struct template *template = &reading->kernel->template;
    const struct statement *tuple = tuple_of(reading, template->problem[index].name);
    if (tuple == NULL)
        return reading->kernel->problem_values[index].count;
    for (size_t i = 0; i < index; i++)
        if (has_name(tuple, template->problem[i].name))
            return 1;
    return tuple->row_count;
}

/* Problem `number`, its values in the template's order; the last varies fastest. */
static void make_problem(const struct reading *reading, size_t number, size_t count,
                         struct bindings *problem)
{
    const struct template *template = &reading->kernel->template;
    for (size_t i = 0; i < template->problem_count; i++) /* fixes the order */
        bindings_set(problem, template->problem[i].name, value_integer(0));
    for (size_t i = 0; i < template->problem_count; i++) {
        const char *name = template->problem[i].name;
        const struct statement *tuple = tuple_of(reading, name);
        size_t own = choices(reading, i);
        count /= own;
        size_t choice = number / count % own;
        if (tuple == NULL)
            bindings_set(problem, name, reading->kernel->problem_values[i].values[choice]);
        else if (own > 1 || tuple->row_count == 1)
            for (size_t j = 0; j < tuple->name_count; j++)
                bindings_set(problem, tuple->names[j], tuple->rows[choice][j]);
    }
}

static void combine_problems(struct reading *reading)
{
    struct sweep_kernel *kernel = reading->kernel;
    size_t count = 1;
    for (size_t i = 0; i < kernel->template.problem_count && reading->status == 0; i++) {
        count *= choices(reading, i);
        if (count > PROBLEM_LIMIT)
            reading->status =
                error_set_at(reading->error, ERROR_CONFIG, reading->path, kernel->line,
                             "'%s' has more than 1024 problems; split the sweep", kernel->label);
    }
    if (reading->status != 0)
        return;
    kernel->problems = alloc_zeroed(count, sizeof *kernel->problems);
    kernel->problem_count = count;
    for (size_t i = 0; i < count; i++)
        make_problem(reading, i, count, &kernel->problems[i]);
}

int sweep_values_read(struct sweep_kernel *kernel, const struct ini_file *ini, const char *path,
                      const char *const *settings, struct error *error)
{
    const struct template *template = &kernel->template;
    struct reading reading = {.kernel = kernel, .path = path, .error = error};
    kernel->values = alloc_zeroed(template->parameter_count, sizeof *kernel->values);
    kernel->problem_values = alloc_zeroed(template->problem_count, sizeof *kernel->problem_values);
    collect(&reading, ini, settings);
    for (size_t i = 0; i < reading.count && reading.status == 0; i++) {
        struct statement *statement = &reading.statements[i];
        if (!concerns(statement, template))
            continue; /* replaced, or another kernel's */
        if (sweep_is_tuple(statement->key))
            read_rows(&reading, statement);
        else
            read_list(&reading, statement);
    }
    add_defaults(template->parameters, template->parameter_count, kernel->values);
    add_defaults(template->problem, template->problem_count, kernel->problem_values);
    for (size_t i = 0; i < reading.count; i++)
        add_constraints(&reading, &reading.statements[i]);
    combine_problems(&reading);
    for (size_t i = 0; i < reading.count; i++)
        statement_release(&reading.statements[i]);
    free(reading.statements);
    return reading.status;
}
