#include "compile/single_compile.h"

#include "base/alloc.h"
#include "base/suggestion.h"
#include "compile/child_compile.h"
#include "compile/cubin_cache.h"
#include "compile/launch_check.h"
#include "template/installed.h"
#include "template/source_file.h"
#include "template/template_load.h"

#include <stdlib.h>
#include <string.h>

/* Replaces nvrtc_build() in the cache key. */
static const char any_build[] = "any";

static char *cache_folder(const struct single_compile *compiler)
{
    return compiler->cache != NULL ? alloc_string(compiler->cache) : cubin_cache_default_folder();
}

static int open_compiler(struct single_compile *compiler, struct error *error)
{
    if (compiler->nvrtc != NULL)
        return 0;
    char *folder = cache_folder(compiler);
    int status = nvrtc_open(&compiler->nvrtc, folder, error);
    free(folder);
    return status;
}

static char *cache_path(const struct single_compile *compiler, const struct source *source,
                        const struct options *options, const char *arch, const char *build)
{
    char key[HASH_BYTES];
    char *folder = cache_folder(compiler);
    cubin_cache_key(source->text_hash, (const char *const *)options->items, options->count, arch,
                    build, key);
    char *path = cubin_cache_path(folder, key);
    free(folder);
    return path;
}

/* Reports the compiler's first error in one line. */
static int refused(const struct source *source, const struct compilation *compilation,
                   struct error *error)
{
    const char *start = strstr(compilation->log, "error");
    if (start == NULL)
        start = compilation->log;
    size_t length = strcspn(start, "\n");
    return error_set_at(error, ERROR_CONFIG, source->path, 0, "compilation failed: %.*s",
                        length < 800 ? (int)length : 800, start);
}

/* Not if a header has changed since the source was loaded: the entry's key has the older one. */
static void write_cached(const char *path, const struct source *source,
                         const struct compilation *compilation)
{
    if (source_check((const char *const *)source->stamps, source->stamp_count, NULL) == 0)
        (void)cubin_cache_write(path, compilation, NULL);
}

/* Reads a cache entry. Returns false if it is missing, damaged or has no cubin. */
static bool read_cached(const char *path, struct compilation *compilation)
{
    bool found = false;
    if (cubin_cache_read(path, compilation, &found, NULL) != 0 || !found)
        return false;
    if (compilation->cubin != NULL)
        return true;
    compilation_release(compilation);
    return false;
}

static int call_compiler(const struct single_compile *compiler, const struct source *source,
                         const struct options *options, const char *arch,
                         struct compilation *compilation, struct error *error)
{
    const struct child_compile_request request = {
        compiler->nvrtc, source->path, source->text, arch, (const char *const *)options->items,
        options->count};
    return compiler->in_child
               ? child_compile(&request, compilation, NULL, error)
               : nvrtc_compile(request.nvrtc, request.name, request.text, request.arch,
                               request.options, request.option_count, compilation, error);
}

static int compile(struct single_compile *compiler, const struct source *source,
                   const struct options *options, const char *arch, struct compilation *compilation,
                   enum build_origin *origin, struct error *error)
{
    int status = open_compiler(compiler, error);
    if (status != 0)
        return status;
    char *path = cache_path(compiler, source, options, arch, nvrtc_build(compiler->nvrtc));
    if (!read_cached(path, compilation)) {
        *origin = BUILD_COMPILED;
        status = call_compiler(compiler, source, options, arch, compilation, error);
        if (status == 0 && compilation->cubin == NULL)
            status = refused(source, compilation, error);
        if (status == 0)
            write_cached(path, source, compilation);
    }
    free(path);
    return status;
}

int single_compile_source_cubin(struct single_compile *compiler, const struct source *source,
                                const struct options *options, const char *arch,
                                struct compilation *compilation, enum build_origin *origin,
                                struct error *error)
{
    int status = 0;
    *compilation = (struct compilation){0};
    *origin = BUILD_CACHED;
    char *path = cache_path(compiler, source, options, arch, any_build);
    if (!compiler->any_compiler || !read_cached(path, compilation)) {
        status = compile(compiler, source, options, arch, compilation, origin, error);
        if (status == 0 && compiler->any_compiler)
            write_cached(path, source, compilation);
    }
    free(path);
    return status;
}

int single_compile_source_entry(struct single_compile *compiler, const struct source *source,
                                const struct options *options, const char *arch,
                                struct compilation *compilation, char **path, struct error *error)
{
    enum build_origin origin;
    struct compilation stored = {0};
    *path = NULL;
    int status = open_compiler(compiler, error);
    if (status == 0)
        status = single_compile_source_cubin(compiler, source, options, arch, compilation, &origin,
                                             error);
    if (status != 0)
        return status;
    *path = cache_path(compiler, source, options, arch, nvrtc_build(compiler->nvrtc));
    if (!read_cached(*path, &stored)) /* the first attempt to write it was not checked */
        status = cubin_cache_write(*path, compilation, error);
    compilation_release(&stored);
    if (status != 0) {
        free(*path);
        *path = NULL;
    }
    return status;
}

/* Says at the template's line if it is an entry that was refused. */
static int explain(int status, const struct build *build, const struct compilation *compilation,
                   struct error *error)
{
    if (status == ERROR_CONFIG)
        (void)launch_check_refusal(build->template, compilation->log, error);
    return status;
}

static int build_options(const struct build *build, struct options *options, struct error *error)
{
    return build->helpers
               ? helper_options(build->template, build->parameters, build->problem, options, error)
               : variant_options(build->template, build->parameters, build->problem, options,
                                 error);
}

int single_compile_entry(struct single_compile *compiler, const struct build *build,
                         struct compilation *compilation, char **path, struct error *error)
{
    struct options options;
    *path = NULL;
    int status = build_options(build, &options, error);
    if (status == 0)
        status = single_compile_source_entry(compiler, &build->template->source, &options,
                                             build->arch, compilation, path, error);
    options_release(&options);
    return explain(status, build, compilation, error);
}

int single_compile_cubin(struct single_compile *compiler, const struct build *build,
                         struct compilation *compilation, enum build_origin *origin,
                         struct error *error)
{
    struct options options;
    *compilation = (struct compilation){0};
    int status = build_options(build, &options, error);
    if (status == 0)
        status = single_compile_source_cubin(compiler, &build->template->source, &options,
                                             build->arch, compilation, origin, error);
    options_release(&options);
    return explain(status, build, compilation, error);
}

int single_compile_ptx(struct single_compile *compiler, const struct build *build, char **ptx,
                       struct error *error)
{
    struct options options;
    int status = open_compiler(compiler, error);
    if (status != 0)
        return status;
    status = build_options(build, &options, error);
    const struct child_compile_request request = {
        compiler->nvrtc, build->template->source.path,       build->template->source.text,
        build->arch,     (const char *const *)options.items, options.count};
    if (status == 0)
        status = child_compile(&request, NULL, ptx, error);
    options_release(&options);
    return status;
}

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
        char *longer = alloc_format("%s#define %.*s %s\n", text, (int)length, name,
                                    valued ? name + length + 1 : "1");
        free(text);
        text = longer;
    }
    return text;
}

char *single_compile_source(const struct build *build)
{
    const struct source *source = &build->template->source;
    struct options options;
    (void)build_options(build, &options, NULL);
    char *definitions = definition_lines(&options);
    char *whole = alloc_format("%s#line 1 \"%s\"\n%s", definitions, source->path, source->text);
    for (size_t i = 0; i < source->unit_count; i++) {
        char *longer = alloc_format("%s\n// another translation unit\n%s#line 1 \"%s\"\n%s", whole,
                                    definitions, source->units[i].path, source->units[i].text);
        free(whole);
        whole = longer;
    }
    free(definitions);
    options_release(&options);
    return whole;
}

void single_compile_release(struct single_compile *compiler)
{
    if (compiler->nvrtc != NULL)
        nvrtc_close(compiler->nvrtc);
    free(compiler->cache);
    *compiler = (struct single_compile){0};
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

int single_compile_bind(const struct template *template, const struct bindings *values,
                        bool lenient, struct bindings *parameters, struct bindings *problem,
                        struct error *error)
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

char *single_compile_find_template(const char *folder, const char *name, struct error *error)
{
    char *installed = installed_templates();
    const char *const stated[] = {folder, NULL};
    const char *const usual[] = {"kernel_templates", ".", installed, NULL};
    const char *const *folders = folder != NULL ? stated : usual;
    char *found = NULL;
    char *nearest = NULL;
    for (size_t i = 0; folders[i] != NULL && found == NULL; i++) {
        char *path = alloc_format("%s/%s.ini", folders[i], name);
        if (template_is_one(path))
            found = path;
        else
            free(path);
    }
    for (size_t i = 0; folders[i] != NULL && found == NULL && nearest == NULL; i++)
        nearest = template_nearest(folders[i], name);
    free(installed);
    if (found != NULL)
        return found;
    if (nearest != NULL)
        (void)error_set(error, ERROR_CONFIG, "no template '%s'; did you mean '%s'?", name, nearest);
    else
        (void)error_set(error, ERROR_CONFIG,
                        "no template '%s.ini' in '%s'%s; name its folder with --templates", name,
                        folder != NULL ? folder : "kernel_templates",
                        folder != NULL ? "" : " or the usual folders");
    free(nearest);
    return NULL;
}
