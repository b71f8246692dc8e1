#include "template/sweep_statements.h"

#include "base/alloc.h"
#include "base/suggestion.h"
#include "template/value_list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool sweep_statement_is_tuple(const char *text)
{
    size_t length = strlen(text);
    return length > 2 && text[0] == '(' && text[length - 1] == ')';
}

int sweep_statement_fail(const struct sweep_statement *statement, const char *format,
                         const char *subject, struct error *error)
{
    return error_set_at(error, ERROR_CONFIG, statement->file, statement->line, format, subject);
}

static void split_names(struct sweep_statement *statement)
{
    const char *key = statement->key;
    if (!sweep_statement_is_tuple(key)) {
        *ARRAY_APPEND(statement->names, statement->name_count) = alloc_string(key);
        return;
    }
    char *inner = alloc_string_n(key + 1, strlen(key) - 2);
    statement->name_count = text_split(inner, ',', &statement->names);
    free(inner);
}

static void add(struct sweep_statements *statements, const char *key, size_t key_length,
                const char *value, const char *file, int line)
{
    while (key_length > 0 && isspace((unsigned char)key[key_length - 1]))
        key_length--;
    struct sweep_statement *statement = ARRAY_APPEND(statements->items, statements->count);
    *statement = (struct sweep_statement){.key = alloc_string_n(key, key_length),
                                          .value = alloc_string(value),
                                          .file = file,
                                          .line = line};
    split_names(statement);
}

void sweep_statements_of_setting(struct sweep_statements *statements, const char *setting)
{
    *statements = (struct sweep_statements){0};
    add(statements, setting, strcspn(setting, "="), "", "--set", 0);
}

void sweep_statements_release(struct sweep_statements *statements)
{
    for (size_t i = 0; i < statements->count; i++) {
        struct sweep_statement *statement = &statements->items[i];
        for (size_t row = 0; row < statement->row_count; row++)
            free(statement->rows[row]);
        free(statement->rows);
        text_split_release(statement->names, statement->name_count);
        free(statement->key);
        free(statement->value);
    }
    free(statements->items);
    *statements = (struct sweep_statements){0};
}

bool sweep_statement_names(const struct sweep_statement *statement, const char *name)
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

bool sweep_statement_concerns(const struct sweep_statement *statement,
                              const struct template *template)
{
    for (size_t i = 0; i < statement->name_count; i++)
        if (has_value(template, statement->names[i]))
            return true;
    return false;
}

int sweep_statement_unknown(const struct sweep_statement *statement,
                            const struct template *template, const char *name, struct error *error)
{
    const char **names = NULL;
    size_t count = 0;
    for (size_t i = 0; i < template->parameter_count; i++)
        *ARRAY_APPEND(names, count) = template->parameters[i].name;
    for (size_t i = 0; i < template->problem_count; i++)
        *ARRAY_APPEND(names, count) = template->problem[i].name;
    *ARRAY_APPEND(names, count) = NULL;
    int status = suggestion_unknown(statement->file, statement->line, "parameter or problem value",
                                    name, names, error);
    free(names);
    return status;
}

/* Each name is there, once, and they are all parameters or all values of the problem. */
static int check_names(const struct sweep_statement *statement, const struct template *template,
                       struct error *error)
{
    if (statement->name_count == 0)
        return sweep_statement_fail(statement, "'%s' names nothing", statement->key, error);
    bool parameter = template_parameter(template, statement->names[0]) != NULL;
    for (size_t i = 0; i < statement->name_count; i++) {
        const char *name = statement->names[i];
        if (!has_value(template, name))
            return sweep_statement_unknown(statement, template, name, error);
        if ((template_parameter(template, name) != NULL) != parameter)
            return sweep_statement_fail(
                statement, "'%s' mixes parameters and problem values; write a tuple for each",
                statement->key, error);
        for (size_t j = 0; j < i; j++)
            if (strcmp(statement->names[j], name) == 0)
                return sweep_statement_fail(statement, "'%s' is given twice", name, error);
    }
    return 0;
}

static bool names_all(const struct sweep_statement *statement, const struct sweep_statement *other)
{
    for (size_t i = 0; i < other->name_count; i++)
        if (!sweep_statement_names(statement, other->names[i]))
            return false;
    return true;
}

/* Two statements that share `name`: the command line's replaces the section's, if it has all of its
 * names. */
static int settle_two(const struct sweep_statement *earlier, struct sweep_statement *later,
                      const char *name, struct error *error)
{
    bool replaces = earlier->line == 0 && later->line > 0;
    if (!replaces)
        return sweep_statement_fail(later, "'%s' is given twice", name, error);
    if (!names_all(earlier, later))
        return sweep_statement_fail(earlier, "the sweep has tuples of '%s'; set all of their names",
                                    later->key, error);
    text_split_release(later->names, later->name_count);
    later->names = NULL;
    later->name_count = 0;
    return 0;
}

/* Each name is given once. */
static int settle(struct sweep_statements *statements, size_t index, struct error *error)
{
    struct sweep_statement *later = &statements->items[index];
    int status = 0;
    for (size_t i = 0; i < index && status == 0; i++)
        for (size_t j = 0; j < later->name_count && status == 0; j++)
            if (sweep_statement_names(&statements->items[i], later->names[j]))
                status = settle_two(&statements->items[i], later, later->names[j], error);
    return status;
}

static int add_settings(struct sweep_statements *statements, const char *const *settings,
                        struct error *error)
{
    for (; settings != NULL && *settings != NULL; settings++) {
        const char *equals = strchr(*settings, '=');
        if (equals == NULL)
            return error_set(error, ERROR_USAGE,
                             "--set '%s' has no value; write it like --set block_size=64,128",
                             *settings);
        add(statements, *settings, (size_t)(equals - *settings), equals + 1, "--set", 0);
    }
    return 0;
}

static void add_section(struct sweep_statements *statements, const struct sweep_section *section)
{
    const struct ini_file *ini = section->ini;
    for (size_t i = 0; i < ini->count; i++) {
        const struct ini_entry *entry = &ini->entries[i];
        if (entry->key != NULL && strcmp(entry->section, section->label) == 0 &&
            (sweep_statement_is_tuple(entry->key) || has_value(section->template, entry->key)))
            add(statements, entry->key, strlen(entry->key), entry->value, ini->path, entry->line);
    }
}

int sweep_statements_collect(struct sweep_statements *statements,
                             const struct sweep_section *section, struct error *error)
{
    *statements = (struct sweep_statements){0};
    int status = add_settings(statements, section->settings, error);
    add_section(statements, section);
    for (size_t i = 0; i < statements->count && status == 0; i++) {
        struct sweep_statement *statement = &statements->items[i];
        if (statement->line > 0 || sweep_statement_concerns(statement, section->template))
            status = check_names(statement, section->template, error);
        if (status == 0)
            status = settle(statements, i, error);
    }
    return status;
}
