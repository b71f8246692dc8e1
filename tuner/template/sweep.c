#include "template/sweep.h"

#include "base/alloc.h"
#include "base/literal.h"
#include "base/path.h"
#include "base/suggestion.h"
#include "template/problem_check.h"
#include "template/template_load.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { KERNEL_NAME_LETTERS = 32 };

static const char sweep_section[] = "sweep";

/* What one sweep_open() reads. After the first failure, everything here does nothing. */
struct reading {
    struct sweep *sweep;
    const char *const *settings;
    const char *range;
    struct sweep_kernel *kernel; /* the current one */
    struct error *error;
    int status;
};

static void fail(struct reading *reading, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void fail(struct reading *reading, int line, const char *format, ...)
{
    char message[sizeof reading->error->message];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (reading->status == 0)
        reading->status =
            error_set_at(reading->error, ERROR_CONFIG, reading->sweep->path, line, "%s", message);
}

static void fail_unknown(struct reading *reading, int line, const char *what, const char *name,
                         const char *const *known)
{
    if (reading->status == 0)
        reading->status =
            suggestion_unknown(reading->sweep->path, line, what, name, known, reading->error);
}

static const struct ini_entry *get(const struct reading *reading, const char *section,
                                   const char *key)
{
    return ini_file_get(&reading->sweep->ini, section, key);
}

/* --- the GPUs --- */

bool device_list_parse(const char *text, struct device_list *list)
{
    enum { LARGEST = 9999 };
    *list = (struct device_list){.all = strcmp(text, "all") == 0};
    while (!list->all) {
        char *end = NULL;
        text += strspn(text, " \t");
        long ordinal = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : -1;
        bool good = ordinal >= 0 && ordinal <= LARGEST && list->count < DEVICES_MOST;
        for (size_t i = 0; i < list->count; i++)
            good = good && list->ordinals[i] != ordinal;
        if (good)
            end += strspn(end, " \t");
        if (!good || (*end != ',' && *end != '\0')) {
            *list = (struct device_list){0};
            return false;
        }
        list->ordinals[list->count++] = (int)ordinal;
        if (*end == '\0')
            break;
        text = end + 1;
    }
    return true;
}

bool device_list_is_stated(const struct device_list *list)
{
    return list->all || list->count > 0;
}

/* --- covers --- */

static void fail_cover(struct reading *reading, const char *text, const char *reason)
{
    fail(reading, reading->kernel->cover.line, "cover '%s' %s", text, reason);
}

static void add_axis(struct reading *reading, const char *name)
{
    struct sweep_cover *cover = &reading->kernel->cover;
    const struct template *template = &reading->kernel->template;
    const struct parameter *value = template_problem_value(template, name);
    if (value == NULL) {
        const char **names = alloc_zeroed(template->problem_count + 1, sizeof *names);
        for (size_t i = 0; i < template->problem_count; i++)
            names[i] = template->problem[i].name;
        fail_unknown(reading, cover->line, "problem value", name, names);
        free(names);
        return;
    }
    if (value->fallback.kind != VALUE_INTEGER)
        fail_cover(reading, name, "is not a whole number and cannot have a range");
    if (template_compiles_in(template, name))
        fail_cover(reading, name,
                   "cannot have a range: the kernel is compiled for each of its values; list "
                   "values instead, or pass it as an argument");
    for (size_t i = 0; i < cover->axis_count; i++)
        if (strcmp(cover->axes[i].name, name) == 0)
            fail_cover(reading, name, "is given twice");
    if (cover->axis_count == SWEEP_COVER_AXES)
        fail_cover(reading, name, "is one problem value too many; 6 may have a range");
    else
        cover->axes[cover->axis_count++].name = value->name;
}

/* A whole number from 1 to `most`, without the blanks around it. */
static bool read_whole(const char *text, int64_t most, int64_t *number)
{
    char **parts; /* one */
    struct value value;
    size_t count = text_split(text, ',', &parts);
    bool valid = count == 1 && value_parse(parts[0], &value, NULL) == 0 &&
                 value.kind == VALUE_INTEGER && value.as.integer >= 1 && value.as.integer <= most;
    if (valid)
        *number = value.as.integer;
    free(parts);
    return valid;
}

/* "16 .. 8192", for the axes from `*bounded` on, which have a name and no bounds yet. */
static void add_bounds(struct reading *reading, const char *text, size_t *bounded)
{
    struct sweep_cover *cover = &reading->kernel->cover;
    const char *dots = strstr(text, "..");
    int64_t low = 0;
    int64_t high = 0;
    char *first = alloc_string_n(text, dots != NULL ? (size_t)(dots - text) : 0);
    if (dots == NULL || !read_whole(first, INT64_MAX, &low) ||
        !read_whole(dots + 2, INT64_MAX, &high))
        fail_cover(reading, text,
                   "is not a range; write it as n = 2^10 .. 2^30, in whole numbers from 1");
    if (low > high)
        fail_cover(reading, text, "ends below its start");
    free(first);
    for (; *bounded < cover->axis_count; ++*bounded) {
        cover->axes[*bounded].low = low;
        cover->axes[*bounded].high = high;
    }
}

static void read_cover(struct reading *reading, const char *section)
{
    struct sweep_cover *cover = &reading->kernel->cover;
    const struct ini_entry *ranges = get(reading, section, "cover");
    const struct ini_entry *most = get(reading, section, "cover_configurations");
    size_t bounded = 0;
    int64_t configurations = SWEEP_COVER_USUAL;
    char **parts = NULL;
    const char *text = reading->range;
    if (text == NULL && ranges != NULL)
        text = ranges->value;
    size_t count = text != NULL ? text_split(text, ',', &parts) : 0;
    *cover =
        (struct sweep_cover){.line = reading->range == NULL && ranges != NULL ? ranges->line : 0};
    for (size_t i = 0; i < count && reading->status == 0; i++) { /* "m" or "n = 16 .. 8192" */
        const char *equals = strchr(parts[i], '=');
        char *name = alloc_string_n(parts[i], strcspn(parts[i], "= \t"));
        if (name[0] != '\0')
            add_axis(reading, name);
        else
            fail_cover(reading, parts[i], "does not name a problem value");
        if (equals != NULL)
            add_bounds(reading, equals + 1 + strspn(equals + 1, " \t"), &bounded);
        free(name);
    }
    free(parts);
    if (text != NULL && (count == 0 || bounded < cover->axis_count))
        fail_cover(reading, text, "has no range; write it as n = 2^10 .. 2^30");
    if (most != NULL && !read_whole(most->value, SWEEP_COVER_MOST, &configurations))
        fail(reading, most->line, "cover_configurations '%s' is not a whole number from 1 to %d",
             most->value, SWEEP_COVER_MOST);
    cover->configurations = (size_t)configurations;
}

/* --- keys of [sweep] and of kernels --- */

static void read_limits(struct reading *reading, const char *section, struct sweep_limits *limits)
{
    const struct ini_entry *budget = get(reading, section, "budget");
    const struct ini_entry *evaluations = get(reading, section, "evaluations");
    int64_t most = 0;
    if (budget != NULL && !duration_parse(budget->value, &limits->budget_s))
        fail(reading, budget->line, "budget '%s' is not a duration; write it as 90s, 10m or 2h",
             budget->value);
    if (evaluations != NULL && !read_whole(evaluations->value, INT64_MAX, &most))
        fail(reading, evaluations->line, "evaluations '%s' is not a whole number of at least 1",
             evaluations->value);
    limits->evaluations = (size_t)most;
}

/* Every key of the section is one of `known`, ended by NULL, or, of a kernel's, a tuple. */
static void check_keys(struct reading *reading, const char *section, const char *const *known)
{
    const struct ini_file *ini = &reading->sweep->ini;
    for (size_t i = 0; i < ini->count; i++) {
        const struct ini_entry *entry = &ini->entries[i];
        if (entry->key != NULL && strcmp(entry->section, section) == 0 &&
            !names_have(known, entry->key) &&
            !(reading->kernel != NULL && sweep_is_tuple(entry->key)))
            fail_unknown(reading, entry->line, "key", entry->key, known);
    }
}

static double read_seconds(struct reading *reading, const char *key, double fallback)
{
    const struct ini_entry *entry = get(reading, sweep_section, key);
    struct value value;
    if (entry == NULL)
        return fallback;
    bool number = value_parse(entry->value, &value, NULL) == 0 && number_is(&value);
    double seconds = number ? number_real(&value) : 0;
    if (seconds < 0.001 || seconds > 86400.0)
        fail(reading, entry->line, "%s '%s' is not a number of seconds from 0.001 to 86400", key,
             entry->value);
    return seconds;
}

static const char *read_output(const struct reading *reading, const char *key, const char *fallback)
{
    const struct ini_entry *entry = get(reading, sweep_section, key);
    return entry != NULL && entry->value[0] != '\0' ? entry->value : fallback;
}

static void read_settings(struct reading *reading)
{
    static const char *const known[] = {
        "tuned",       "results", "templates", "launch_timeout_s", "compile_timeout_s", "budget",
        "evaluations", "device",  NULL};
    struct sweep *sweep = reading->sweep;
    if (sweep->ini.count > 0 && sweep->ini.entries[0].section[0] == '\0')
        fail(reading, sweep->ini.entries[0].line, "key '%s' is before the first section",
             sweep->ini.entries[0].key);
    check_keys(reading, sweep_section, known);
    sweep->tuned = read_output(reading, "tuned", "results/tuned.ini");
    sweep->results = read_output(reading, "results", "results");
    sweep->launch_timeout_s = read_seconds(reading, "launch_timeout_s", 2.0);
    sweep->compile_timeout_s = read_seconds(reading, "compile_timeout_s", 60.0);
    read_limits(reading, sweep_section, &sweep->limits);
    const struct ini_entry *device = get(reading, sweep_section, "device");
    if (device != NULL && !device_list_parse(device->value, &sweep->devices))
        fail(reading, device->line,
             "device '%s' is neither a list of at most %d GPUs, counted from 0, nor 'all'",
             device->value, (int)DEVICES_MOST);
}

/* --- a kernel's section --- */

static void read_constraints(struct reading *reading)
{
    struct sweep_kernel *kernel = reading->kernel;
    const struct template *template = &kernel->template;
    const struct sweep *sweep = reading->sweep;
    for (size_t i = 0; i < sweep->ini.count && reading->status == 0; i++) {
        const struct ini_entry *entry = &sweep->ini.entries[i];
        if (entry->key == NULL || strcmp(entry->section, kernel->label) != 0 ||
            strcmp(entry->key, "constraint") != 0)
            continue;
        struct expression **constraint =
            ARRAY_APPEND(kernel->own_constraints, kernel->own_constraint_count);
        reading->status =
            expression_new(constraint, entry->value, sweep->path, entry->line, reading->error);
        if (reading->status == 0)
            reading->status =
                expression_check_names(*constraint, template->constraint_names, reading->error);
    }
    for (size_t i = 0; i < template->constraint_count; i++)
        *ARRAY_APPEND(kernel->constraints, kernel->constraint_count) = template->constraints[i];
    for (size_t i = 0; i < kernel->own_constraint_count; i++)
        *ARRAY_APPEND(kernel->constraints, kernel->constraint_count) = kernel->own_constraints[i];
}

static void check_kernel_keys(struct reading *reading)
{
    static const char *const own[] = {
        "template",    "description", "constraint",           "cache", "budget",
        "evaluations", "cover",       "cover_configurations", NULL};
    struct names known = {0};
    template_add_names(&reading->kernel->template, &known);
    names_add_all(&known, own);
    check_keys(reading, reading->kernel->label, known.items);
    free(known.items);
}

/* The kernel of the template at `path`; `line` is the sweep's that names it. */
static void read_template(struct reading *reading, const char *path, int line)
{
    struct sweep *sweep = reading->sweep;
    struct sweep_kernel *kernel = reading->kernel;
    struct template *template = &kernel->template;
    reading->status = template_load_unfinished(template, path, reading->error);
    if (reading->status == 0)
        reading->status = macro_check(template, reading->error);
    if (reading->status != 0)
        return;
    if (kernel->label == NULL)
        kernel->label = template->name;
    if (!literal_is_name(template->name, SIZE_MAX))
        fail(reading, line,
             "template '%s' has a name that a tuned INI cannot contain; rename its "
             "file to lower-case letters, digits and underscores",
             template->name);
    const struct ini_entry *description = get(reading, kernel->label, "description");
    kernel->description = description != NULL ? description->value : template->description;
    check_kernel_keys(reading);
    if (reading->status == 0)
        reading->status =
            sweep_values_read(kernel, &sweep->ini, sweep->path, reading->settings, reading->error);
    read_constraints(reading);
    const struct ini_entry *cache = get(reading, kernel->label, "cache");
    kernel->cold = cache != NULL ? strcmp(cache->value, "cold") == 0 : template->cold;
    if (cache != NULL && !kernel->cold && strcmp(cache->value, "warm") != 0)
        fail(reading, cache->line, "cache '%s' is neither cold nor warm", cache->value);
    read_limits(reading, kernel->label, &kernel->limits);
    read_cover(reading, kernel->label);
    kernel->limited = kernel->limits.budget_s > 0 || kernel->limits.evaluations > 0 ||
                      sweep->limits.budget_s > 0 || sweep->limits.evaluations > 0;
}

static void read_kernel(struct reading *reading, const struct ini_entry *heading)
{
    struct sweep *sweep = reading->sweep;
    reading->kernel = ARRAY_APPEND(sweep->kernels, sweep->kernel_count);
    reading->kernel->label = heading->section;
    reading->kernel->line = heading->line;
    const struct ini_entry *name = get(reading, heading->section, "template");
    int line = name != NULL ? name->line : heading->line;
    if (!literal_is_name(heading->section, KERNEL_NAME_LETTERS)) {
        fail(reading, heading->line,
             "kernel name '%s' is not a lower-case name of at most %d letters", heading->section,
             KERNEL_NAME_LETTERS);
        return;
    }
    const struct ini_entry *folder = get(reading, sweep_section, "templates");
    const struct template_search search = {.beside = sweep->path,
                                           .folder = folder != NULL ? folder->value : NULL,
                                           .usual = "../kernel_templates",
                                           .advice = "'templates' in [sweep]"};
    struct error reason;
    char *path = template_find(&search, name != NULL ? name->value : heading->section, &reason);
    if (path != NULL)
        read_template(reading, path, line);
    else
        fail(reading, line, "%s", reason.message);
    free(path);
}

/* --- the file --- */

static void check_only(struct reading *reading, const char *const *only, size_t only_count)
{
    const struct sweep *sweep = reading->sweep;
    const char **labels = NULL;
    size_t count = 0;
    for (size_t i = 0; i < sweep->ini.count; i++)
        if (sweep->ini.entries[i].key == NULL &&
            strcmp(sweep->ini.entries[i].section, sweep_section) != 0)
            *ARRAY_APPEND(labels, count) = sweep->ini.entries[i].section;
    *ARRAY_APPEND(labels, count) = NULL;
    for (size_t i = 0; i < only_count && reading->status == 0; i++) {
        if (names_have(labels, only[i]))
            continue;
        fail_unknown(reading, 0, "kernel", only[i], labels);
        reading->status = ERROR_USAGE;
        if (reading->error != NULL)
            reading->error->code = ERROR_USAGE;
    }
    free(labels);
}

static void read_kernels(struct reading *reading, const char *const *only, size_t only_count)
{
    struct sweep *sweep = reading->sweep;
    check_only(reading, only, only_count);
    for (size_t i = 0; i < sweep->ini.count && reading->status == 0; i++) {
        const struct ini_entry *entry = &sweep->ini.entries[i];
        bool wanted = only_count == 0;
        for (size_t j = 0; j < only_count; j++)
            wanted = wanted || strcmp(only[j], entry->section) == 0;
        if (entry->key == NULL && strcmp(entry->section, sweep_section) != 0 && wanted)
            read_kernel(reading, entry);
    }
    if (sweep->kernel_count == 0)
        fail(reading, 0, "the sweep has no kernel; add a section such as [reduce_sum]");
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

int sweep_open(struct sweep *sweep, const struct sweep_request *request, struct error *error)
{
    struct reading reading = {
        .sweep = sweep, .settings = request->settings, .range = request->range, .error = error};
    *sweep = (struct sweep){0};
    if (request->path != NULL)
        reading.status = ini_file_read(&sweep->ini, request->path, error);
    sweep->path = alloc_string(request->path != NULL ? request->path : request->template);
    if (reading.status == 0)
        read_settings(&reading);
    if (reading.status == 0 && request->path != NULL)
        read_kernels(&reading, request->only, request->only_count);
    else if (reading.status == 0) { /* one template alone needs no file */
        reading.kernel = ARRAY_APPEND(sweep->kernels, sweep->kernel_count);
        read_template(&reading, request->template, 0);
    }
    if (reading.status == 0)
        reading.status = sweep_check_settings(sweep, request->settings, error);
    if (reading.status == 0 && !request->unfinished)
        reading.status = sweep_check_finished(sweep, error);
    if (reading.status != 0)
        sweep_release(sweep);
    return reading.status;
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

/* --- where a sweep may write --- */

/* The real path of `path`; if it does not exist, the real path of the part that does, and the rest.
 * Free it. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the path at most */
static char *real_path(const char *path)
{
    char *real = realpath(path, NULL);
    if (real != NULL || strcmp(path, "/") == 0 || strcmp(path, ".") == 0)
        return real != NULL ? real : alloc_string(path);
    char *folder = path_folder(path);
    char *real_folder = real_path(folder);
    const char *slash = strrchr(path, '/');
    real = alloc_format("%s/%s", real_folder, slash != NULL ? slash + 1 : path);
    free(real_folder);
    free(folder);
    return real;
}

/* `real` is a real path, but the part of it that does not exist may have a "..". */
static bool is_below(const char *real, const char *folder)
{
    size_t length = strlen(folder);
    size_t real_length = strlen(real);
    return strncmp(real, folder, length) == 0 &&
           (real[length] == '/' || real[length] == '\0' || folder[length - 1] == '/') &&
           strstr(real, "/../") == NULL &&
           (real_length < 3 || strcmp(real + real_length - 3, "/..") != 0);
}

int sweep_check_output(const struct sweep *sweep, const char *path, const char *key,
                       struct error *error)
{
    char *here = real_path(".");
    char *real = real_path(path);
    int status = 0;
    if (!is_below(real, here))
        status = error_set_at(error, ERROR_CONFIG, sweep->path, 0,
                              "'%s = %s' is outside the current folder '%s'; to write there, add "
                              "--%s %s",
                              key, path, here, key, path);
    free(real);
    free(here);
    return status;
}
