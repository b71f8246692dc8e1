#include "template/sweep.h"

#include "base/alloc.h"
#include "base/path.h"
#include "base/suggestion.h"
#include "template/installed.h"
#include "template/macro_check.h"
#include "template/sweep_values.h"
#include "template/template_load.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KERNEL_NAME_LETTERS = 32 };

static const char sweep_section[] = "sweep";

static const char *const sweep_keys[] = {
    "tuned",       "results", "templates", "launch_timeout_s", "compile_timeout_s", "budget",
    "evaluations", "device",  NULL};

/* --- where templates are --- */

/* The template in the folders whose name is nearest to `name`; a new string, or NULL. */
static char *nearest_template(const struct sweep *sweep, const char *const *folders,
                              const char *name)
{
    char *nearest = NULL;
    for (size_t i = 0; folders[i] != NULL && nearest == NULL; i++) {
        char *path = path_beside(sweep->path, folders[i]);
        nearest = template_nearest(path, name);
        free(path);
    }
    return nearest;
}

/* The file of template `name`; a new string, or NULL with an error. */
static char *find_template(struct sweep *sweep, const char *name, int line, struct error *error)
{
    const struct ini_entry *folder = ini_file_get(&sweep->ini, sweep_section, "templates");
    char *installed = installed_templates();
    const char *const stated[] = {folder != NULL ? folder->value : NULL, NULL};
    const char *const usual[] = {"../kernel_templates", ".", installed, NULL};
    const char *const *folders = folder != NULL ? stated : usual;
    char *other = NULL; /* of this name, but a sweep, say */
    for (size_t i = 0; folders[i] != NULL; i++) {
        char *path = path_beside(sweep->path, folders[i]);
        char *file = alloc_format("%s/%s.ini", path, name);
        free(path);
        if (template_is_one(file)) {
            free(installed);
            free(other);
            return file;
        }
        if (other == NULL && access(file, F_OK) == 0)
            other = file;
        else
            free(file);
    }
    char *nearest = other == NULL ? nearest_template(sweep, folders, name) : NULL;
    if (other != NULL)
        (void)error_set_at(
            error, ERROR_CONFIG, sweep->path, line,
            "no template '%s'; '%s' is not one, since it has no [launch.NAME] section", name,
            other);
    else if (nearest != NULL)
        (void)error_set_at(error, ERROR_CONFIG, sweep->path, line,
                           "no template '%s'; did you mean '%s'?", name, nearest);
    else
        (void)error_set_at(error, ERROR_CONFIG, sweep->path, line,
                           "no template '%s.ini' in '%s'%s; name its folder with "
                           "'templates' in [sweep]",
                           name, folders[0], folder != NULL ? "" : " or the usual folders");
    free(installed);
    free(other);
    free(nearest);
    return NULL;
}

/* --- a kernel's section --- */

static int read_values(const struct sweep *sweep, struct sweep_kernel *kernel,
                       const char *const *settings, struct error *error)
{
    const struct sweep_section section = {.template = &kernel->template,
                                          .ini = &sweep->ini,
                                          .path = sweep->path,
                                          .label = kernel->label,
                                          .line = kernel->line,
                                          .settings = settings};
    struct sweep_values values;
    int status = sweep_values_read(&values, &section, error);
    kernel->values = values.parameters;
    kernel->problem_values = values.problem;
    kernel->problems = values.problems;
    kernel->problem_count = values.problem_count;
    kernel->own_constraints = values.constraints;
    kernel->own_constraint_count = values.constraint_count;
    return status;
}

static int read_constraints(struct sweep *sweep, struct sweep_kernel *kernel, struct error *error)
{
    struct template *template = &kernel->template;
    for (size_t i = 0; i < template->constraint_count; i++)
        *ARRAY_APPEND(kernel->constraints, kernel->constraint_count) = template->constraints[i];
    for (size_t i = 0; i < sweep->ini.count; i++) {
        const struct ini_entry *entry = &sweep->ini.entries[i];
        if (entry->key == NULL || strcmp(entry->section, kernel->label) != 0 ||
            strcmp(entry->key, "constraint") != 0)
            continue;
        struct expression **constraint =
            ARRAY_APPEND(kernel->own_constraints, kernel->own_constraint_count);
        int status = expression_new(constraint, entry->value, sweep->path, entry->line, error);
        if (status == 0)
            status = expression_check_names(*constraint, template->constraint_names, error);
        if (status != 0)
            return status;
    }
    for (size_t i = 0; i < kernel->own_constraint_count; i++)
        *ARRAY_APPEND(kernel->constraints, kernel->constraint_count) = kernel->own_constraints[i];
    return 0;
}

/* Every key of the section is a parameter, a problem value, or one of the section's own. */
static int check_keys(const struct sweep *sweep, const struct sweep_kernel *kernel,
                      struct error *error)
{
    const struct template *template = &kernel->template;
    const char **known = NULL;
    size_t count = 0;
    for (size_t i = 0; i < template->parameter_count; i++)
        *ARRAY_APPEND(known, count) = template->parameters[i].name;
    for (size_t i = 0; i < template->problem_count; i++)
        *ARRAY_APPEND(known, count) = template->problem[i].name;
    static const char *const own[] = {
        "template",    "description", "constraint",           "cache", "budget",
        "evaluations", "cover",       "cover_configurations", NULL};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) /* with the NULL */
        *ARRAY_APPEND(known, count) = own[i];
    int status = 0;
    for (size_t i = 0; i < sweep->ini.count && status == 0; i++) {
        const struct ini_entry *entry = &sweep->ini.entries[i];
        bool found = entry->key == NULL || strcmp(entry->section, kernel->label) != 0 ||
                     sweep_statement_is_tuple(entry->key);
        for (size_t j = 0; j + 1 < count && !found; j++)
            found = strcmp(known[j], entry->key) == 0;
        if (!found)
            status = suggestion_unknown(sweep->path, entry->line, "key", entry->key, known, error);
    }
    free(known);
    return status;
}

static int read_cache(struct sweep *sweep, struct sweep_kernel *kernel, struct error *error)
{
    const struct ini_entry *cache = ini_file_get(&sweep->ini, kernel->label, "cache");
    kernel->cold = kernel->template.cold;
    if (cache == NULL)
        return 0;
    kernel->cold = strcmp(cache->value, "cold") == 0;
    if (!kernel->cold && strcmp(cache->value, "warm") != 0)
        return error_set_at(error, ERROR_CONFIG, sweep->path, cache->line,
                            "cache '%s' is neither cold nor warm", cache->value);
    return 0;
}

/* The kernel of the template at `path`; `line` is the sweep's that names it. */
static int read_template(struct sweep *sweep, struct sweep_kernel *kernel, const char *path,
                         int line, const char *const *settings, struct error *error)
{
    int status = template_load_unfinished(&kernel->template, path, error);
    if (kernel->label == NULL)
        kernel->label = kernel->template.name;
    const struct ini_entry *description = ini_file_get(&sweep->ini, kernel->label, "description");
    if (status == 0)
        status = macro_check(&kernel->template, error);
    if (status == 0 && !literal_is_name(kernel->template.name, SIZE_MAX))
        status =
            error_set_at(error, ERROR_CONFIG, sweep->path, line,
                         "template '%s' has a name that a tuned INI cannot contain; rename its "
                         "file to lower-case letters, digits and underscores",
                         kernel->template.name);
    kernel->description = description != NULL ? description->value : kernel->template.description;
    if (status == 0)
        status = check_keys(sweep, kernel, error);
    if (status == 0)
        status = read_values(sweep, kernel, settings, error);
    if (status == 0)
        status = read_constraints(sweep, kernel, error);
    if (status == 0)
        status = read_cache(sweep, kernel, error);
    if (status == 0)
        status = sweep_limits_read(&kernel->limits, &sweep->ini, kernel->label, error);
    if (status == 0)
        status =
            sweep_cover_read(&kernel->cover, &kernel->template, &sweep->ini, kernel->label, error);
    kernel->limited = kernel->limits.budget_s > 0 || kernel->limits.evaluations > 0 ||
                      sweep->limits.budget_s > 0 || sweep->limits.evaluations > 0;
    return status;
}

static int read_kernel(struct sweep *sweep, struct sweep_kernel *kernel,
                       const char *const *settings, struct error *error)
{
    const struct ini_entry *name = ini_file_get(&sweep->ini, kernel->label, "template");
    int name_line = name != NULL ? name->line : kernel->line;
    if (!literal_is_name(kernel->label, KERNEL_NAME_LETTERS))
        return error_set_at(error, ERROR_CONFIG, sweep->path, kernel->line,
                            "kernel name '%s' is not a lower-case name of at most %d letters",
                            kernel->label, KERNEL_NAME_LETTERS);
    char *path = find_template(sweep, name != NULL ? name->value : kernel->label, name_line, error);
    if (path == NULL)
        return ERROR_CONFIG;
    int status = read_template(sweep, kernel, path, name_line, settings, error);
    free(path);
    return status;
}

/* --- the file --- */

static int read_seconds(struct sweep *sweep, const char *key, double fallback, double *seconds,
                        struct error *error)
{
    const struct ini_entry *entry = ini_file_get(&sweep->ini, sweep_section, key);
    struct value value;
    *seconds = fallback;
    if (entry == NULL)
        return 0;
    int status = value_parse(entry->value, &value, NULL);
    if (status == 0 && value.kind != VALUE_WORD)
        *seconds = value.kind == VALUE_INTEGER ? (double)value.as.integer : value.as.real;
    if (status != 0 || value.kind == VALUE_WORD || *seconds < 0.001 || *seconds > 86400.0)
        return error_set_at(error, ERROR_CONFIG, sweep->path, entry->line,
                            "%s '%s' is not a number of seconds from 0.001 to 86400", key,
                            entry->value);
    return 0;
}

static const char *read_output(struct sweep *sweep, const char *key, const char *fallback)
{
    const struct ini_entry *entry = ini_file_get(&sweep->ini, sweep_section, key);
    return entry != NULL && entry->value[0] != '\0' ? entry->value : fallback;
}

static int check_sweep_keys(const struct sweep *sweep, struct error *error)
{
    for (size_t i = 0; i < sweep->ini.count; i++) {
        const struct ini_entry *entry = &sweep->ini.entries[i];
        bool found = entry->key == NULL || strcmp(entry->section, sweep_section) != 0;
        for (size_t j = 0; sweep_keys[j] != NULL && !found; j++)
            found = strcmp(sweep_keys[j], entry->key) == 0;
        if (entry->section[0] == '\0')
            return error_set_at(error, ERROR_CONFIG, sweep->path, entry->line,
                                "key '%s' is before the first section", entry->key);
        if (!found)
            return suggestion_unknown(sweep->path, entry->line, "key", entry->key, sweep_keys,
                                      error);
    }
    return 0;
}

static int read_devices(struct sweep *sweep, struct error *error)
{
    const struct ini_entry *entry = ini_file_get(&sweep->ini, sweep_section, "device");
    if (entry == NULL || device_list_parse(entry->value, &sweep->devices))
        return 0;
    return error_set_at(
        error, ERROR_CONFIG, sweep->path, entry->line,
        "device '%s' is neither a list of at most %d GPUs, counted from 0, nor 'all'", entry->value,
        (int)DEVICES_MOST);
}

static int read_settings(struct sweep *sweep, struct error *error)
{
    int status = check_sweep_keys(sweep, error);
    sweep->tuned = read_output(sweep, "tuned", "results/tuned.ini");
    sweep->results = read_output(sweep, "results", "results");
    if (status == 0)
        status = read_seconds(sweep, "launch_timeout_s", 2.0, &sweep->launch_timeout_s, error);
    if (status == 0)
        status = read_seconds(sweep, "compile_timeout_s", 60.0, &sweep->compile_timeout_s, error);
    if (status == 0)
        status = sweep_limits_read(&sweep->limits, &sweep->ini, sweep_section, error);
    return status != 0 ? status : read_devices(sweep, error);
}

static bool is_wanted(const char *label, const char *const *only, size_t only_count)
{
    for (size_t i = 0; i < only_count; i++)
        if (strcmp(only[i], label) == 0)
            return true;
    return only_count == 0;
}

static int check_only(const struct sweep *sweep, const char *const *only, size_t only_count,
                      struct error *error)
{
    const char **labels = NULL;
    size_t count = 0;
    for (size_t i = 0; i < sweep->ini.count; i++)
        if (sweep->ini.entries[i].key == NULL &&
            strcmp(sweep->ini.entries[i].section, sweep_section) != 0)
            *ARRAY_APPEND(labels, count) = sweep->ini.entries[i].section;
    *ARRAY_APPEND(labels, count) = NULL;
    int status = 0;
    for (size_t i = 0; i < only_count && status == 0; i++) {
        bool found = false;
        for (size_t j = 0; labels[j] != NULL && !found; j++)
            found = strcmp(labels[j], only[i]) == 0;
        if (!found && suggestion_unknown(sweep->path, 0, "kernel", only[i], labels, error) != 0)
            status = error != NULL ? (int)(error->code = ERROR_USAGE) : (int)ERROR_USAGE;
    }
    free(labels);
    return status;
}

static int read_kernels(struct sweep *sweep, const char *const *only, size_t only_count,
                        const char *const *settings, struct error *error)
{
    int status = check_only(sweep, only, only_count, error);
    for (size_t i = 0; i < sweep->ini.count && status == 0; i++) {
        const struct ini_entry *entry = &sweep->ini.entries[i];
        if (entry->key != NULL || strcmp(entry->section, sweep_section) == 0 ||
            !is_wanted(entry->section, only, only_count))
            continue;
        struct sweep_kernel *kernel = ARRAY_APPEND(sweep->kernels, sweep->kernel_count);
        kernel->label = entry->section;
        kernel->line = entry->line;
        status = read_kernel(sweep, kernel, settings, error);
    }
    if (status == 0 && sweep->kernel_count == 0)
        status = error_set_at(error, ERROR_CONFIG, sweep->path, 0,
                              "the sweep has no kernel; add a section such as [reduce_sum]");
    return status;
}

/* Every template's kernels are in one file; one template alone needs none. */
static int open_sweep(struct sweep *sweep, const struct sweep_request *request, struct error *error)
{
    int status = 0;
    if (request->path != NULL)
        status = ini_file_read(&sweep->ini, request->path, error);
    if (status != 0)
        return status;
    sweep->path = alloc_string(request->path != NULL ? request->path : request->template);
    status = read_settings(sweep, error);
    if (status != 0)
        return status;
    if (request->path != NULL)
        return read_kernels(sweep, request->only, request->only_count, request->settings, error);
    struct sweep_kernel *kernel = ARRAY_APPEND(sweep->kernels, sweep->kernel_count);
    return read_template(sweep, kernel, request->template, 0, request->settings, error);
}

int sweep_check_finished(const struct sweep *sweep, struct error *error)
{
    for (size_t i = 0; i < sweep->kernel_count; i++)
        if (sweep->kernels[i].template.gap.code != 0) {
            if (error != NULL)
                *error = sweep->kernels[i].template.gap;
            return ERROR_CONFIG;
        }
    return 0;
}

static int check_settings(const struct sweep *sweep, const char *const *settings,
                          struct error *error)
{
    for (; settings != NULL && *settings != NULL; settings++) {
        bool known = false;
        for (size_t i = 0; i < sweep->kernel_count; i++)
            known = known || sweep_values_concern(&sweep->kernels[i].template, *settings);
        if (!known)
            return sweep_values_unknown(&sweep->kernels[0].template, *settings, error);
    }
    return 0;
}

int sweep_open(struct sweep *sweep, const struct sweep_request *request, struct error *error)
{
    *sweep = (struct sweep){0};
    int status = open_sweep(sweep, request, error);
    if (status == 0)
        status = check_settings(sweep, request->settings, error);
    if (status == 0 && !request->unfinished)
        status = sweep_check_finished(sweep, error);
    if (status != 0)
        sweep_release(sweep);
    return status;
}

int sweep_load(struct sweep *sweep, const char *path, const char *const *only, size_t only_count,
               struct error *error)
{
    const struct sweep_request request = {.path = path, .only = only, .only_count = only_count};
    return sweep_open(sweep, &request, error);
}

static void kernel_release(struct sweep_kernel *kernel)
{
    for (size_t i = 0; kernel->values != NULL && i < kernel->template.parameter_count; i++)
        value_list_release(&kernel->values[i]);
    for (size_t i = 0; kernel->problem_values != NULL && i < kernel->template.problem_count; i++)
        value_list_release(&kernel->problem_values[i]);
    for (size_t i = 0; i < kernel->problem_count; i++)
        bindings_release(&kernel->problems[i]);
    for (size_t i = 0; i < kernel->own_constraint_count; i++)
        expression_free(kernel->own_constraints[i]);
    free(kernel->values);
    free(kernel->problem_values);
    free(kernel->problems);
    free(kernel->constraints);
    free(kernel->own_constraints);
    template_release(&kernel->template);
}

void sweep_release(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->kernel_count; i++)
        kernel_release(&sweep->kernels[i]);
    free(sweep->kernels);
    ini_file_release(&sweep->ini);
    free(sweep->path);
    *sweep = (struct sweep){0};
}

int sweep_too_many(const struct sweep_kernel *kernel, struct error *error)
{
    return error_set_at(
        error, ERROR_CONFIG, kernel->template.path, 0,
        "kernel '%s' has more than 10^7 variants; add constraints, or search them with "
        "--budget 10m or --evaluations 1000",
        kernel->label);
}
