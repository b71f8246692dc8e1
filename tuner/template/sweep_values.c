#include "template/sweep_values.h"

#include "base/alloc.h"
#include "base/suggestion.h"
#include "template/value_list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { PROBLEM_LIMIT = 1024 };

/* One "names = values", of the section or the command line. */
struct statement {
    char *key;
    char **names;
    size_t name_count;
    char *value;
    const char *file;
    int line;            /* 0: of the command line */
    struct value **rows; /* of a tuple: a value for each name; words belong to the lists */
    size_t row_count;
};

/* What a kernel's values are read from. */
struct reading {
    const struct sweep_section *section;
    struct sweep_values *values;
    struct statement *statements;
    size_t count;
    struct error *error;
};

static int fail(const struct reading *reading, const struct statement *statement,
                const char *format, const char *subject)
{
    return error_set_at(reading->error, ERROR_CONFIG, statement->file, statement->line, format,
                        subject);
}

bool sweep_values_is_tuple(const char *key)
{
    size_t length = strlen(key);
    return length > 2 && key[0] == '(' && key[length - 1] == ')';
}

/* --- statements --- */

static void split_names(struct statement *statement)
{
    const char *key = statement->key;
    if (!sweep_values_is_tuple(key)) {
        *ARRAY_APPEND(statement->names, statement->name_count) = alloc_string(key);
        return;
    }
    char *inner = alloc_string_n(key + 1, strlen(key) - 2);
    statement->name_count = text_split(inner, ',', &statement->names);
    free(inner);
}

static void add_statement(struct reading *reading, const char *key, size_t key_length,
                          const char *value, const char *file, int line)
{
    while (key_length > 0 && isspace((unsigned char)key[key_length - 1]))
        key_length--;
    struct statement *statement = ARRAY_APPEND(reading->statements, reading->count);
    *statement = (struct statement){.key = alloc_string_n(key, key_length),
                                    .value = alloc_string(value),
                                    .file = file,
                                    .line = line};
    split_names(statement);
}

static void release_statements(struct reading *reading)
{
    for (size_t i = 0; i < reading->count; i++) {
        struct statement *statement = &reading->statements[i];
        for (size_t row = 0; row < statement->row_count; row++)
            free(statement->rows[row]);
        free(statement->rows);
        text_split_release(statement->names, statement->name_count);
        free(statement->key);
        free(statement->value);
    }
    free(reading->statements);
}

static bool names_it(const struct statement *statement, const char *name)
{
    for (size_t i = 0; i < statement->name_count; i++)
        if (strcmp(statement->names[i], name) == 0)
            return true;
    return false;
}

static bool has_value(const struct template *template, const char *name)
{
    return template_parameter(template, name) != NULL ||
           template_problem_value(template, name) != NULL;
}

static bool concerns(const struct statement *statement, const struct template *template)
{
    for (size_t i = 0; i < statement->name_count; i++)
        if (has_value(template, statement->names[i]))
            return true;
    return false;
}

static const char **value_names(const struct template *template)
{
    const char **names = NULL;
    size_t count = 0;
    for (size_t i = 0; i < template->parameter_count; i++)
        *ARRAY_APPEND(names, count) = template->parameters[i].name;
    for (size_t i = 0; i < template->problem_count; i++)
        *ARRAY_APPEND(names, count) = template->problem[i].name;
    *ARRAY_APPEND(names, count) = NULL;
    return names;
}

/* Each name of a tuple is there, and they are all parameters or all values of the problem. */
static int check_names(const struct reading *reading, const struct statement *statement)
{
    const struct template *template = reading->section->template;
    bool parameter = template_parameter(template, statement->names[0]) != NULL;
    for (size_t i = 0; i < statement->name_count; i++) {
        const char *name = statement->names[i];
        if (!has_value(template, name)) {
            const char **known = value_names(template);
            int status =
                suggestion_unknown(statement->file, statement->line, "parameter or problem value",
                                   name, known, reading->error);
            free(known);
            return status;
        }
        if ((template_parameter(template, name) != NULL) != parameter)
            return fail(reading, statement,
                        "'%s' mixes parameters and problem values; write a tuple for each",
                        statement->key);
        for (size_t j = 0; j < i; j++)
            if (strcmp(statement->names[j], name) == 0)
                return fail(reading, statement, "'%s' is given twice", name);
    }
    return 0;
}

/* A name is given once, but the command line's list replaces the section's. Drops what is
 * replaced. */
static int settle(struct reading *reading, size_t index)
{
    struct statement *statement = &reading->statements[index];
    for (size_t i = 0; i < index; i++) {
        const struct statement *earlier = &reading->statements[i];
        for (size_t j = 0; j < statement->name_count; j++) {
            if (!names_it(earlier, statement->names[j]))
                continue;
            bool replaced = earlier->line == 0 && statement->line > 0;
            for (size_t k = 0; k < statement->name_count; k++)
                replaced = replaced && names_it(earlier, statement->names[k]);
            if (!replaced && earlier->line == 0 && statement->line > 0)
                return fail(reading, earlier,
                            "the sweep has tuples of '%s'; set all of their names", statement->key);
            if (!replaced)
                return fail(reading, statement, "'%s' is given twice", statement->names[j]);
            text_split_release(statement->names, statement->name_count);
            statement->names = NULL;
            statement->name_count = 0;
        }
    }
    return 0;
}

static int collect(struct reading *reading)
{
    const struct template *template = reading->section->template;
    const struct ini_file *ini = reading->section->ini;
    const char *const *settings = reading->section->settings;
    int status = 0;
    for (; settings != NULL && *settings != NULL; settings++) {
        const char *equals = strchr(*settings, '=');
        if (equals == NULL)
            return error_set(reading->error, ERROR_USAGE,
                             "--set '%s' has no value; write it like --set block_size=64,128",
                             *settings);
        add_statement(reading, *settings, (size_t)(equals - *settings), equals + 1, "--set", 0);
    }
    for (size_t i = 0; i < ini->count; i++) {
        const struct ini_entry *entry = &ini->entries[i];
        if (entry->key != NULL && strcmp(entry->section, reading->section->label) == 0 &&
            (sweep_values_is_tuple(entry->key) || has_value(template, entry->key)))
            add_statement(reading, entry->key, strlen(entry->key), entry->value, ini->path,
                          entry->line);
    }
    for (size_t i = 0; i < reading->count && status == 0; i++) {
        struct statement *statement = &reading->statements[i];
        if (statement->line > 0 || concerns(statement, template))
            status = statement->name_count > 0
                         ? check_names(reading, statement)
                         : fail(reading, statement, "'%s' names nothing", statement->key);
        if (status == 0)
            status = settle(reading, i);
    }
    return status;
}

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
static int read_row(struct reading *reading, struct statement *statement, const char *text)
{
    char **texts = NULL;
    size_t length = strlen(text);
    char *inner = sweep_values_is_tuple(text) ? alloc_string_n(text + 1, length - 2) : NULL;
    size_t count = inner != NULL ? text_split(inner, ',', &texts) : 0;
    struct value *row = alloc_zeroed(statement->name_count, sizeof *row);
    int status = 0;
    *ARRAY_APPEND(statement->rows, statement->row_count) = row;
    if (count != statement->name_count)
        status = fail(reading, statement,
                      "'%s' does not have a value for each name, as in (64, 128)", text);
    for (size_t i = 0; i < count && status == 0; i++) {
        const struct parameter *parameter;
        struct value_list *list = list_of(reading, statement->names[i], &parameter);
        struct error reason;
        struct value value;
        if (value_parse(texts[i], &value, &reason) != 0)
            status = fail(reading, statement, "%s", reason.message);
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
static bool repeats(const struct statement *statement)
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

static int read_rows(struct reading *reading, struct statement *statement)
{
    char **texts;
    size_t count = text_split(statement->value, ',', &texts);
    int status = count > 0 ? 0 : fail(reading, statement, "'%s' has no values", statement->key);
    for (size_t i = 0; i < count && status == 0; i++) {
        status = read_row(reading, statement, texts[i]);
        if (status == 0 && repeats(statement))
            status = fail(reading, statement, "'%s' is given twice; remove one", texts[i]);
    }
    text_split_release(texts, count);
    return status;
}

static int read_list(struct reading *reading, const struct statement *statement)
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

static int read_statement(struct reading *reading, struct statement *statement)
{
    if (statement->name_count == 0 || !concerns(statement, reading->section->template))
        return 0;
    return sweep_values_is_tuple(statement->key) ? read_rows(reading, statement)
                                                 : read_list(reading, statement);
}

static void add_defaults(const struct parameter *parameters, size_t count, struct value_list *lists)
{
    for (size_t i = 0; i < count; i++)
        if (lists[i].count == 0)
            value_list_single(&lists[i], parameters[i].fallback);
}

/* --- tuples of parameters --- */

/* "(a == 1 and b == 2) or (a == 2 and b == 1)", of the first `names` names; a new string. */
static char *constraint_text(const struct statement *statement, size_t names)
{
    char *text = alloc_string("");
    for (size_t row = 0; row < statement->row_count; row++) {
        for (size_t i = 0; i < names; i++) {
            struct value value = statement->rows[row][i];
            char word[VALUE_TEXT_BYTES];
            const char *quote = value.kind == VALUE_WORD ? "\"" : "";
            char *longer = alloc_format("%s%s%s == %s%s%s%s", text,
                                        i > 0      ? " and "
                                        : row == 0 ? "("
                                                   : " or (",
                                        statement->names[i], quote, value_text(value, word), quote,
                                        i + 1 == names ? ")" : "");
            free(text);
            text = longer;
        }
    }
    return text;
}

/* A constraint for each prefix, so that enumerating turns back early. */
static int add_constraints(struct reading *reading, const struct statement *statement)
{
    struct sweep_values *values = reading->values;
    int status = 0;
    if (statement->row_count == 0 ||
        template_parameter(reading->section->template, statement->names[0]) == NULL)
        return 0;
    for (size_t names = 2; names <= statement->name_count && status == 0; names++) {
        char *text = constraint_text(statement, names);
        struct expression **constraint =
            ARRAY_APPEND(values->constraints, values->constraint_count);
        status = expression_new(constraint, text, statement->file, statement->line, reading->error);
        free(text);
    }
    return status;
}

/* --- problems --- */

static const struct statement *tuple_of(const struct reading *reading, const char *name)
{
    for (size_t i = 0; i < reading->count; i++)
        if (reading->statements[i].row_count > 0 && names_it(&reading->statements[i], name))
            return &reading->statements[i];
    return NULL;
}

/* How many choices a problem value adds: those of a tuple once, with its first name. */
static size_t choices(const struct reading *reading, size_t index)
{
    const struct template *template = reading->section->template;
    const struct statement *tuple = tuple_of(reading, template->problem[index].name);
    if (tuple == NULL)
        return reading->values->problem[index].count;
    for (size_t i = 0; i < index; i++)
        if (names_it(tuple, template->problem[i].name))
            return 1;
    return tuple->row_count;
}

static void bind_tuple(const struct statement *tuple, size_t row, struct bindings *problem)
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
        const struct statement *tuple = tuple_of(reading, name);
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
    int status = collect(&reading);
    for (size_t i = 0; i < reading.count && status == 0; i++)
        status = read_statement(&reading, &reading.statements[i]);
    add_defaults(template->parameters, template->parameter_count, values->parameters);
    add_defaults(template->problem, template->problem_count, values->problem);
    for (size_t i = 0; i < reading.count && status == 0; i++)
        status = add_constraints(&reading, &reading.statements[i]);
    if (status == 0)
        status = combine_problems(&reading);
    release_statements(&reading);
    return status;
}

/* The statement of a setting alone. */
static struct reading read_setting(const char *setting)
{
    struct reading reading = {0};
    add_statement(&reading, setting, strcspn(setting, "="), "", "--set", 0);
    return reading;
}

bool sweep_values_concern(const struct template *template, const char *setting)
{
    struct reading reading = read_setting(setting);
    bool concern = concerns(reading.statements, template);
    release_statements(&reading);
    return concern;
}

int sweep_values_unknown(const struct template *template, const char *setting, struct error *error)
{
    struct reading reading = read_setting(setting);
    const char **names = value_names(template);
    (void)suggestion_unknown("--set", 0, "parameter or problem value", reading.statements->key,
                             names, error);
    if (error != NULL)
        error->code = ERROR_USAGE;
    free(names);
    release_statements(&reading);
    return ERROR_USAGE;
}
