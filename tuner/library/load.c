#include "lines.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { GPU_LIMIT = 4096 };

double tuned_scale(double number)
{
    return number < 0 ? -log2(1 - number) : log2(1 + number);
}

/* -- memory --------------------------------------------------------------------------------------
 * Everything is as large as the text can make it, so nothing grows while it is read.
 */

static void count_lines(const char *text, size_t length, size_t *lines, size_t *headings)
{
    *lines = 1;
    *headings = 0;
    for (size_t i = 0; i < length; i++) {
        *lines += text[i] == '\n';
        *headings += text[i] == '[';
    }
}

static bool values_room(struct values *values, size_t count)
{
    values->items = calloc(count + 1, sizeof *values->items);
    values->scales = calloc(count + 1, sizeof *values->scales);
    values->room = count;
    return values->items != NULL && values->scales != NULL;
}

static void values_free(struct values *values)
{
    free(values->items);
    free(values->scales);
}

/* A copy of `text` in the pool; NULL where the text was larger than its file, which cannot be. */
static const char *keep(char *strings, size_t *used, size_t room, const char *text, size_t length)
{
    if (length >= room - *used)
        return NULL;
    char *copy = strings + *used;
    memcpy(copy, text, length);
    copy[length] = '\0';
    *used += length + 1;
    return copy;
}

/* Adds `name` = `value`, both kept already. */
static int add_value(struct lines *lines, struct values *values, size_t first, size_t limit,
                     const char *name, const char *text)
{
    struct tuned_value value = {.name = name};
    if (!tuned_is_name(name, NAME_LETTERS))
        return lines_fail(lines, "'%s' is no lower-case name of at most %d letters", name,
                          NAME_LETTERS);
    if (!lines_value(text, &value))
        return lines_fail(lines, "'%s' of '%s' is neither a number nor a lower-case word", text,
                          name);
    for (size_t i = first; i < values->count; i++)
        if (strcmp(values->items[i].name, name) == 0)
            return lines_fail(lines, "'%s' is given twice in this section", name);
    if (values->count - first == limit || values->count == values->room)
        return lines_fail(lines, "section has more than %zu values", limit);
    values->scales[values->count] = value.kind == TUNED_WORD ? 0 : tuned_scale(value.real);
    values->items[values->count++] = value;
    return 0;
}

/* -- tuned INI -----------------------------------------------------------------------------------
 */

/* A section while it is read. */
struct section {
    struct tuned_table *table;
    struct tuned_configuration configuration;
    struct tuned_gpu gpu;
    int line;
    bool open;
    size_t first_parameter, first_problem;
};

static const char *keep_in(struct lines *lines, const char *text)
{
    struct section *section = lines->user;
    struct tuned_table *table = section->table;
    const char *kept = keep(table->strings, &table->used, table->string_room, text, strlen(text));
    if (kept == NULL)
        (void)lines_fail(lines, "file is not what it was when it was counted");
    return kept;
}

static int read_text(struct lines *lines, const char *value, const char **text)
{
    if (*text != NULL)
        return lines_fail(lines, "key is given twice in this section");
    *text = keep_in(lines, value);
    return lines->status;
}

static int read_name(struct lines *lines, const char *value, const char **name)
{
    if (!tuned_is_name(value, SIZE_MAX))
        return lines_fail(lines, "'%s' is no lower-case name", value);
    return read_text(lines, value, name);
}

static int read_gpu_name(struct lines *lines, const char *value, struct tuned_gpu *gpu)
{
    int length = snprintf(gpu->name, sizeof gpu->name, "%s", value);
    return length > 0 && (size_t)length < sizeof gpu->name
               ? 0
               : lines_fail(lines, "a GPU's name has 1 to %zu bytes", sizeof gpu->name - 1);
}

static int read_int(struct lines *lines, const char *value, int *number)
{
    int64_t wide = 0;
    if (!lines_whole(value, INT_MAX, &wide))
        return lines_fail(lines, "'%s' is not a whole number in range", value);
    *number = (int)wide;
    return 0;
}

static int read_real(struct lines *lines, const char *value, double *real)
{
    return lines_real(value, real) ? 0
                                   : lines_fail(lines, "'%s' is not a number of 0 or more", value);
}

/* The part of `key` behind `prefix`; NULL where it does not begin with it. */
static const char *behind(const char *key, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(key, prefix, length) == 0 ? key + length : NULL;
}

static int read_binding(struct lines *lines, struct values *values, size_t first, size_t limit,
                        const char *name, const char *value)
{
    const char *kept_name = keep_in(lines, name);
    const char *kept_value = kept_name != NULL ? keep_in(lines, value) : NULL;
    return kept_value != NULL ? add_value(lines, values, first, limit, kept_name, kept_value)
                              : lines->status;
}

static int tuned_entry(struct lines *lines, const char *key, const char *value)
{
    struct section *section = lines->user;
    struct tuned_configuration *configuration = &section->configuration;
    struct tuned_table *table = section->table;
    const char *name;
    if (!section->open)
        return lines_fail(lines, "key '%s' is in no section; is this a tuned INI of autotune?",
                          key);
    if (lines->continuation)
        return lines_fail(lines, "line begins with white space; a tuned INI has no such lines");
    if ((name = behind(key, "parameter.")) != NULL)
        return read_binding(lines, &table->parameters, section->first_parameter, TUNED_PARAMETERS,
                            name, value);
    if ((name = behind(key, "problem.")) != NULL)
        return read_binding(lines, &table->problems, section->first_problem, TUNED_PROBLEM_VALUES,
                            name, value);
    if (strcmp(key, "kernel") == 0)
        return read_name(lines, value, &configuration->kernel);
    if (strcmp(key, "template") == 0)
        return read_name(lines, value, &configuration->template_name);
    if (strcmp(key, "template_hash") == 0)
        return read_text(lines, value, &configuration->template_hash);
    if (strcmp(key, "gpu") == 0)
        return read_gpu_name(lines, value, &section->gpu);
    if (strcmp(key, "compute_capability") == 0)
        return read_int(lines, value, &section->gpu.compute_capability);
    if (strcmp(key, "sm_count") == 0)
        return read_int(lines, value, &section->gpu.sm_count);
    if (strcmp(key, "l2_bytes") == 0)
        return lines_whole(value, INT64_MAX, &section->gpu.l2_bytes)
                   ? 0
                   : lines_fail(lines, "'%s' is not a whole number in range", value);
    if (strcmp(key, "memory_gb_per_s") == 0)
        return read_real(lines, value, &section->gpu.memory_gb_per_s);
    if (strcmp(key, "median_ns") == 0)
        return read_real(lines, value, &configuration->median_ns);
    return 0;
}

static bool same_gpu(const struct tuned_gpu *a, const struct tuned_gpu *b)
{
    return strcmp(a->name, b->name) == 0 && a->compute_capability == b->compute_capability &&
           a->sm_count == b->sm_count && a->l2_bytes == b->l2_bytes &&
           !(a->memory_gb_per_s < b->memory_gb_per_s) && !(a->memory_gb_per_s > b->memory_gb_per_s);
}

/* NULL where there are more than a file could name in earnest: the search is linear. */
static const struct tuned_gpu *keep_gpu(struct tuned_table *table, const struct tuned_gpu *gpu)
{
    size_t i = 0;
    while (i < table->gpu_count && !same_gpu(&table->gpus[i], gpu))
        i++;
    if (i == GPU_LIMIT)
        return NULL;
    if (i == table->gpu_count)
        table->gpus[table->gpu_count++] = *gpu; /* as much room as there are headings */
    return &table->gpus[i];
}

static const char *missing_key(const struct section *section)
{
    return section->configuration.kernel == NULL          ? "kernel"
           : section->configuration.template_name == NULL ? "template"
           : section->configuration.template_hash == NULL ? "template_hash"
           : section->gpu.name[0] == '\0'                 ? "gpu"
           : section->gpu.compute_capability == 0         ? "compute_capability"
                                                          : NULL;
}

/* Ends the section that is open, if there is one. */
static int end_section(struct lines *lines)
{
    struct section *section = lines->user;
    struct tuned_table *table = section->table;
    struct tuned_configuration *configuration = &section->configuration;
    if (!section->open)
        return 0;
    const char *missing = missing_key(section);
    if (missing != NULL) {
        lines->line = section->line;
        return lines_fail(lines, "section '%s' has no key '%s'; is this a tuned INI of autotune?",
                          configuration->section, missing);
    }
    configuration->gpu = keep_gpu(table, &section->gpu);
    if (configuration->gpu == NULL)
        return lines_fail(lines, "file has more than %d GPUs", GPU_LIMIT);
    configuration->problem = table->problems.items + section->first_problem;
    configuration->problem_count = table->problems.count - section->first_problem;
    configuration->parameters = table->parameters.items + section->first_parameter;
    configuration->parameter_count = table->parameters.count - section->first_parameter;
    table->configurations[table->count++] = *configuration;
    section->open = false;
    return 0;
}

static int tuned_heading(struct lines *lines, const char *name, size_t length)
{
    struct section *section = lines->user;
    struct tuned_table *table = section->table;
    if (end_section(lines) != 0)
        return lines->status;
    *section = (struct section){.table = table,
                                .line = lines->line,
                                .open = true,
                                .first_parameter = table->parameters.count,
                                .first_problem = table->problems.count};
    section->configuration.section =
        keep(table->strings, &table->used, table->string_room, name, length);
    if (section->configuration.section == NULL || table->count == table->room)
        return lines_fail(lines, "file is not what it was when it was counted");
    return 0;
}

/* By kernel, GPU, and place in the file: the values lie in that order. */
static int compare_configurations(const void *a, const void *b)
{
    const struct tuned_configuration *first = a;
    const struct tuned_configuration *second = b;
    int kernels = strcmp(first->kernel, second->kernel);
    if (kernels != 0)
        return kernels;
    if (first->gpu != second->gpu)
        return first->gpu < second->gpu ? -1 : 1;
    return first->section < second->section ? -1 : first->section > second->section;
}

static bool make_room(struct tuned_table *table, size_t lines, size_t headings, size_t length)
{
    table->room = headings;
    table->string_room = length + 4; /* "k=v" is no longer than "k", "v" and their zeros but one */
    table->configurations = calloc(headings + 1, sizeof *table->configurations);
    table->scales = calloc(headings + 1, sizeof *table->scales);
    table->gpus = calloc(headings + 1, sizeof *table->gpus);
    table->strings = calloc(table->string_room, 1);
    return values_room(&table->parameters, lines) && values_room(&table->problems, lines) &&
           table->configurations != NULL && table->scales != NULL && table->gpus != NULL &&
           table->strings != NULL;
}

static int read_table(struct tuned_table *table, const char *name, const char *text, size_t length,
                      struct tuned_error *error)
{
    struct section section = {.table = table};
    struct lines lines = {.name = name,
                          .next = text,
                          .end = text + length,
                          .error = error,
                          .user = &section,
                          .heading = tuned_heading,
                          .entry = tuned_entry};
    if (lines_read(&lines) != 0 || end_section(&lines) != 0)
        return lines.status;
    qsort(table->configurations, table->count, sizeof *table->configurations,
          compare_configurations);
    for (size_t i = 0; i < table->count; i++)
        table->scales[i] =
            table->problems.scales + (table->configurations[i].problem - table->problems.items);
    return 0;
}

int tuned_load_text(struct tuned_table **table, const char *name, const char *text, size_t length,
                    struct tuned_error *error)
{
    size_t lines;
    size_t headings;
    *table = NULL;
    count_lines(text, length, &lines, &headings);
    struct tuned_table *new = calloc(1, sizeof *new);
    int code = new != NULL &&make_room(new, lines, headings, length)
                   ? read_table(new, name, text, length, error)
                   : tuned_fail(error, TUNED_NO_MEMORY, name, 0, "out of memory");
    if (code == 0)
        *table = new;
    else
        tuned_free(new);
    return code;
}

static void defaults_free(struct defaults *defaults)
{
    if (defaults == NULL)
        return;
    values_free(&defaults->parameters);
    values_free(&defaults->problem);
    free(defaults->strings);
    free(defaults);
}

void tuned_free(struct tuned_table *table)
{
    if (table == NULL)
        return;
    while (table->templates != NULL) {
        struct defaults *next = table->templates->next;
        defaults_free(table->templates);
        table->templates = next;
    }
    values_free(&table->parameters);
    values_free(&table->problems);
    free(table->configurations);
    free(table->scales);
    free(table->gpus);
    free(table->strings);
    free(table->folder);
    free(table);
}

size_t tuned_count(const struct tuned_table *table)
{
    return table->count;
}

const struct tuned_configuration *tuned_at(const struct tuned_table *table, size_t index)
{
    return index < table->count ? &table->configurations[index] : NULL;
}

size_t tuned_first_of(const struct tuned_table *table, const char *kernel)
{
    size_t low = 0;
    size_t high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(table->configurations[middle].kernel, kernel) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* -- templates -----------------------------------------------------------------------------------
 */

struct template_file {
    struct defaults *defaults;
    struct values *values; /* where this section's go; NULL: not wanted */
    size_t limit;
};

static int template_heading(struct lines *lines, const char *name, size_t length)
{
    static const struct {
        const char *name;
        bool problem;
    } sections[] = {{"parameters", false}, {"launch_parameters", false}, {"problem", true}};
    struct template_file *file = lines->user;
    file->values = NULL;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        if (strlen(sections[i].name) != length || memcmp(sections[i].name, name, length) != 0)
            continue;
        file->values = sections[i].problem ? &file->defaults->problem : &file->defaults->parameters;
        file->limit = sections[i].problem ? (size_t)TUNED_PROBLEM_VALUES : TUNED_PARAMETERS;
    }
    return 0;
}

/* "two_pass | atomic": the first word is the default. */
static int template_entry(struct lines *lines, const char *key, const char *value)
{
    struct template_file *file = lines->user;
    struct defaults *defaults = file->defaults;
    if (file->values == NULL || lines->continuation)
        return 0;
    const char *name = keep(defaults->strings, &defaults->used, defaults->room, key, strlen(key));
    const char *text = name == NULL ? NULL
                                    : keep(defaults->strings, &defaults->used, defaults->room,
                                           value, strcspn(value, " \t|"));
    if (text == NULL)
        return lines_fail(lines, "file is not what it was when it was counted");
    return add_value(lines, file->values, 0, file->limit, name, text);
}

/* `name` is the file's without folder and ending. */
static int read_defaults(struct defaults *defaults, const char *path, const char *name,
                         size_t name_length, const char *text, size_t length,
                         struct tuned_error *error)
{
    size_t line_count;
    size_t headings;
    struct template_file file = {.defaults = defaults};
    struct lines lines = {.name = path,
                          .next = text,
                          .end = text + length,
                          .error = error,
                          .user = &file,
                          .heading = template_heading,
                          .entry = template_entry};
    count_lines(text, length, &line_count, &headings);
    defaults->room = length + name_length + 8;
    defaults->strings = calloc(defaults->room, 1);
    if (defaults->strings == NULL || !values_room(&defaults->parameters, line_count) ||
        !values_room(&defaults->problem, line_count))
        return tuned_fail(error, TUNED_NO_MEMORY, path, 0, "out of memory");
    defaults->name = keep(defaults->strings, &defaults->used, defaults->room, name, name_length);
    return lines_read(&lines);
}

int tuned_add_template(struct tuned_table *table, const char *path, struct tuned_error *error)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    size_t name_length = dot != NULL ? (size_t)(dot - name) : strlen(name);
    char *text;
    size_t length;
    int code = lines_file(path, &text, &length, error);
    if (code != 0)
        return code;
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

const struct defaults *tuned_defaults_of(const struct tuned_table *table, const char *name)
{
    const struct defaults *defaults = table->templates;
    while (defaults != NULL && strcmp(defaults->name, name) != 0)
        defaults = defaults->next;
    return defaults;
}

const char *tuned_template_of(const struct tuned_table *table, const char *kernel)
{
    size_t first = tuned_first_of(table, kernel);
    bool known = first < table->count && strcmp(table->configurations[first].kernel, kernel) == 0;
    return known ? table->configurations[first].template_name : kernel;
}

/* -- files ---------------------------------------------------------------------------------------
 */

/* "FOLDER/templates/NAME.ini", where it is there. */
static int add_bundled_template(struct tuned_table *table, const char *name,
                                struct tuned_error *error)
{
    char path[4096];
    struct stat status;
    int length = snprintf(path, sizeof path, "%s/templates/%s.ini", table->folder, name);
    if (tuned_defaults_of(table, name) != NULL)
        return 0;
    if (length < 0 || (size_t)length >= sizeof path)
        return tuned_fail(error, TUNED_BAD_FILE, table->folder, 0, "path is too long");
    if (stat(path, &status) != 0)
        return tuned_fail(error, TUNED_BAD_FILE, path, 0,
                          "the bundle lacks a template; make it again with `autotune bundle`");
    return tuned_add_template(table, path, error);
}

static int load_file(struct tuned_table **table, const char *path, struct tuned_error *error)
{
    char *text;
    size_t length;
    int code = lines_file(path, &text, &length, error);
    if (code == 0)
        code = tuned_load_text(table, path, text, length, error);
    free(text);
    return code;
}

static int load_bundle(struct tuned_table **table, const char *folder, struct tuned_error *error)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/tuned.ini", folder);
    if (length < 0 || (size_t)length >= sizeof path)
        return tuned_fail(error, TUNED_BAD_FILE, folder, 0, "path is too long");
    int code = load_file(table, path, error);
    if (code != 0)
        return code;
    (*table)->folder = strdup(folder);
    if ((*table)->folder == NULL)
        code = tuned_fail(error, TUNED_NO_MEMORY, folder, 0, "out of memory");
    for (size_t i = 0; i < (*table)->count && code == 0; i++)
        code = add_bundled_template(*table, (*table)->configurations[i].template_name, error);
    if (code != 0) {
        tuned_free(*table);
        *table = NULL;
    }
    return code;
}

int tuned_load(struct tuned_table **table, const char *path, struct tuned_error *error)
{
    struct stat status;
    *table = NULL;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode) ? load_bundle(table, path, error)
                                                               : load_file(table, path, error);
}
