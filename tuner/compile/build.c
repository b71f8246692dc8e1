#include "compile/build.h"

#include "base/alloc.h"
#include "base/suggestion.h"
#include "template/compiler_option.h"
#include "template/template_load.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int build_options(const struct build *build, struct options *options, struct error *error)
{
    int status =
        build->helpers
            ? helper_options(build->template, build->parameters, build->problem, options, error)
            : variant_options(build->template, build->parameters, build->problem, options, error);
    if (status == 0 && build->ptx)
        *ARRAY_APPEND(options->items, options->count) = alloc_string(COMPILER_OPTION_PTX);
    return status;
}

/* --- messages --- */

int build_refused(const struct source *source, const struct compilation *compilation,
                  struct error *error)
{
    char *cause = compilation_cause(compilation->log);
    const char *start = cause != NULL ? strstr(cause, "error") : compilation->log;
    size_t length = strcspn(start, "\n");
    int status = error_set_at(error, ERROR_CONFIG, source->files[0].path, 0,
                              "compilation failed: %.*s", length < 800 ? (int)length : 800, start);
    free(cause);
    return status;
}

/* --- the source --- */

/* The definitions among the options as #define lines; a new string. */
static char *definition_lines(const struct options *options)
{
    char *text = alloc_string("");
    for (size_t i = 0; i < options->count; i++) {
        const char *name = options->items[i] + 2;
        size_t length = strcspn(name, "=");
        if (strncmp(options->items[i], "-D", 2) != 0)
            continue;
        bool valued = name[length] == '=';
        alloc_append(&text, "#define %.*s %s\n", (int)length, name,
                     valued ? name + length + 1 : "1");
    }
    return text;
}

char *build_source(const struct build *build)
{
    const struct source *source = &build->template->source;
    struct options options;
    (void)build_options(build, &options, NULL);
    char *definitions = definition_lines(&options);
    char *whole = NULL;
    for (size_t i = 0; i < source->unit_count; i++)
        alloc_append(&whole, "%s%s#line 1 \"%s\"\n%s",
                     i > 0 ? "\n// another translation unit\n" : "", definitions,
                     source->files[i].path, source->files[i].text);
    free(definitions);
    options_release(&options);
    return whole;
}

/* --- bindings --- */

static int unknown_name(const struct template *template, const char *name, struct error *error)
{
    const char **known = NULL;
    size_t count = 0;
    for (size_t i = 0; i < template->parameter_count; i++)
        *ARRAY_APPEND(known, count) = template->parameters[i].name;
    for (size_t i = 0; i < template->problem_count; i++)
        *ARRAY_APPEND(known, count) = template->problem[i].name;
    *ARRAY_APPEND(known, count) = NULL;
    int status =
        suggestion_unknown(template->path, 0, "parameter or problem value", name, known, error);
    free(known);
    return status;
}

static int bind(const struct template *template, const struct parameter *parameters, size_t count,
                const struct bindings *values, struct bindings *bindings, struct error *error)
{
    int status = 0;
    bindings_release(bindings);
    for (size_t i = 0; i < count && status == 0; i++) {
        const struct value *value = bindings_find(values, parameters[i].name);
        if (value != NULL)
            status = parameter_check(&parameters[i], *value, template->path, 0, error);
        if (status == 0)
            bindings_set(bindings, parameters[i].name,
                         value != NULL ? *value : parameters[i].fallback);
    }
    return status;
}

int build_bind(const struct template *template, const struct bindings *values, bool lenient,
               struct bindings *parameters, struct bindings *problem, struct error *error)
{
    for (size_t i = 0; i < values->count && !lenient; i++)
        if (template_parameter(template, values->items[i].name) == NULL &&
            template_problem_value(template, values->items[i].name) == NULL)
            return unknown_name(template, values->items[i].name, error);
    int status =
        bind(template, template->parameters, template->parameter_count, values, parameters, error);
    return status != 0
               ? status
               : bind(template, template->problem, template->problem_count, values, problem, error);
}

char *build_find_template(const char *folder, const char *name, struct error *error)
{
    const struct template_search search = {
        .folder = folder, .usual = "kernel_templates", .advice = "--templates"};
    return template_find(&search, name, error);
}

/* --- the tuner's own kernels --- */

const struct source *device_kernels(void)
{
    static char path[] = "/autotune/device_kernels.cu";
    static struct source_file file;
    static struct source source;
    file.path = path;
    file.text = (char *)(uintptr_t)device_kernels_source;
    file.bytes = strlen(file.text);
    hash_of(file.text, file.bytes, file.hash);
    source.files = &file;
    source.file_count = source.unit_count = source.followed_count = 1;
    memcpy(source.text_hash, file.hash, sizeof source.text_hash);
    memcpy(source.hash, file.hash, sizeof source.hash);
    return &source;
}
