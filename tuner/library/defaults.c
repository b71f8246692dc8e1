#include "table.h"

#include "base/tuned_reader.h"

#include <stdlib.h>
#include <string.h>

/* A template's .ini being read. */
struct template_file {
    struct defaults *defaults;
    struct values *values; /* of the open section; NULL: not wanted */
    struct tuned_names *names;
    struct tuned_names parameters, problem;
    const char *pending; /* a name whose value begins on the next line */
};

/* Of "two_pass | atomic" the first word is the default. */
static int take_default(struct ini_reader *ini, const char *name, const char *value)
{
    struct template_file *file = ini->user;
    struct literal literal;
    const char *text = pool_keep(&file->defaults->pool, value, strcspn(value, " \t|"));
    const char *wrong = text != NULL ? literal_parse(text, &literal) : NULL;
    if (wrong != NULL)
        return ini_reader_fail(ini, "default '%s' of '%s' %s", text, name, wrong);
    return values_add(file->values, name, text, &literal) ? 0 : ini_reader_no_memory(ini);
}

static int check_pending(struct ini_reader *ini)
{
    const struct template_file *file = ini->user;
    return file->pending == NULL ? 0 : ini_reader_fail(ini, "'%s' has no default", file->pending);
}

static int template_section(struct ini_reader *ini, const char *name)
{
    struct template_file *file = ini->user;
    file->values = NULL;
    if (strcmp(name, "parameters") == 0 || strcmp(name, "launch_parameters") == 0) {
        file->values = &file->defaults->parameters;
        file->names = &file->parameters;
    } else if (strcmp(name, "problem") == 0) {
        file->values = &file->defaults->problem;
        file->names = &file->problem;
    }
    return check_pending(ini);
}

static int template_entry(struct ini_reader *ini, const char *key, const char *value)
{
    struct template_file *file = ini->user;
    int status = check_pending(ini);
    if (status != 0 || file->values == NULL)
        return status;
    status = tuned_names_add(file->names, ini, key,
                             file->names == &file->problem ? (size_t)TUNED_PROBLEM_VALUES
                                                           : TUNED_PARAMETERS);
    if (status != 0)
        return status;
    const char *name = pool_keep(&file->defaults->pool, key, strlen(key));
    if (name == NULL)
        return ini_reader_no_memory(ini);
    if (*value != '\0')
        return take_default(ini, name, value);
    file->pending = name;
    return 0;
}

/* A continuation line only has more words that the parameter may have. */
static int template_more(struct ini_reader *ini, const char *text)
{
    struct template_file *file = ini->user;
    const char *name = file->pending;
    file->pending = NULL;
    return name != NULL ? take_default(ini, name, text) : 0;
}

/* `name` is the file's name without folder and extension. */
static int read_defaults(struct defaults *defaults, const char *path, const char *name,
                         size_t name_length, const char *text, size_t length,
                         struct tuned_error *error)
{
    struct text_size size = pool_measure(text, length);
    struct template_file file = {.defaults = defaults};
    struct ini_reader ini = {
        .section = template_section, .entry = template_entry, .more = template_more, .user = &file};
    if (!pool_init(&defaults->pool, size.bytes + name_length + 8) ||
        !values_init(&defaults->parameters, size.lines) ||
        !values_init(&defaults->problem, size.lines))
        return tuned_fail(error, TUNED_NO_MEMORY, path, 0, "out of memory");
    defaults->name = pool_keep(&defaults->pool, name, name_length);
    int status = ini_reader_read(&ini, text, length);
    if (status == 0)
        status = check_pending(&ini);
    return status == 0 ? 0 : tuned_hand_on(error, path, &ini, status);
}

int tuned_add_template(struct tuned_table *table, const char *path, struct tuned_error *error)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    size_t name_length = dot != NULL ? (size_t)(dot - name) : strlen(name);
    struct ini_reader ini = {0};
    char *text;
    size_t length;
    int code = ini_reader_load(&ini, path, &text, &length);
    if (code != 0)
        return tuned_hand_on(error, path, &ini, code);
    struct defaults *defaults = calloc(1, sizeof *defaults);
    if (defaults == NULL) {
        free(text);
        return tuned_fail(error, TUNED_NO_MEMORY, path, 0, "out of memory");
    }
    code = read_defaults(defaults, path, name, name_length, text, length, error);
    free(text);
    if (code != 0) {
        defaults_free(defaults);
        return code;
    }
    defaults->next = table->templates;
    table->templates = defaults;
    return 0;
}
