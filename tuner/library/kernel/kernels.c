#include "kernels.h"

#include "alloc.h"
#include "variant.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int kernels_fail(const struct error *inner, struct tuned_error *error)
{
    int code = inner->code == ERROR_CONFIG   ? TUNED_BAD_FILE
               : inner->code == ERROR_DEVICE ? TUNED_CUDA
               : inner->code == ERROR_USAGE  ? TUNED_INVALID
                                             : TUNED_COMPILER;
    if (error != NULL) {
        *error = (struct tuned_error){.code = code, .line = inner->line};
        (void)snprintf(error->file, sizeof error->file, "%.255s", inner->file);
        (void)snprintf(error->message, sizeof error->message, "%.1023s", inner->message);
    }
    return code;
}

int kernels_refuse(struct tuned_error *error, enum tuned_code code, const char *format, ...)
{
    va_list arguments;
    if (error == NULL)
        return code;
    *error = (struct tuned_error){.code = code};
    va_start(arguments, format);
    (void)vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return code;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int open_driver(struct tuned_kernels *kernels, struct tuned_error *error)
{
    struct error inner;
    int ordinal;
    int code = tuned_gpu_current(&kernels->gpu, &ordinal, error);
    if (code != 0)
        return code;
    int status = driver_open(&kernels->device.driver, &inner);
    if (status == 0)
        status = device_describe(&kernels->device, ordinal, &inner);
    return status != 0 ? kernels_fail(&inner, error) : 0;
}

int tuned_kernels_open(struct tuned_kernels **kernels, const char *path, const char *templates,
                       struct tuned_error *error)
{
    struct tuned_kernels *new = alloc_zeroed(1, sizeof *new);
    *kernels = NULL;
    (void)pthread_mutex_init(&new->mutex, NULL); /* cannot fail without attributes */
    new->builder.any_compiler = true;
    new->evaluator = evaluator_new();
    int code = tuned_load(&new->table, path, error);
    if (code == 0 && templates == NULL && !is_folder(path))
        code =
            kernels_refuse(error, TUNED_INVALID,
                           "'%s' is a tuned INI and no bundle; name its templates' folder", path);
    if (code == 0)
        new->templates =
            templates != NULL ? alloc_string(templates) : alloc_format("%s/templates", path);
    if (code == 0)
        code = open_driver(new, error);
    if (code == 0)
        *kernels = new;
    else
        tuned_kernels_close(new);
    return code;
}

void tuned_kernels_close(struct tuned_kernels *kernels)
{
    if (kernels == NULL)
        return;
    for (size_t i = 0; i < kernels->loaded_count; i++) {
        template_release(kernels->loaded[i]);
        free(kernels->loaded[i]);
    }
    free(kernels->loaded);
    evaluator_free(kernels->evaluator);
    builder_release(&kernels->builder);
    driver_close(&kernels->device.driver);
    tuned_free(kernels->table);
    free(kernels->templates);
    (void)pthread_mutex_destroy(&kernels->mutex);
    free(kernels);
}

const struct tuned_gpu *tuned_kernels_gpu(const struct tuned_kernels *kernels)
{
    return &kernels->gpu;
}

const struct tuned_table *tuned_kernels_table(const struct tuned_kernels *kernels)
{
    return kernels->table;
}

const char *tuned_origin_text(enum tuned_origin origin)
{
    static const char *const texts[] = {"bundle", "cache", "compiler"};
    return (size_t)origin < sizeof texts / sizeof *texts ? texts[origin] : "unknown origin";
}

struct tuned_query kernels_query(const struct tuned_kernels *kernels,
                                 const struct tuned_query *query)
{
    struct tuned_query asked = *query;
    if (asked.gpu == NULL)
        asked.gpu = &kernels->gpu;
    return asked;
}

int kernels_find(const struct tuned_kernels *kernels, const struct tuned_query *query,
                 struct tuned_match *match, struct tuned_error *error)
{
    char text[512];
    int code = tuned_find(kernels->table, query, match);
    if (code == TUNED_NOT_FOUND) {
        (void)tuned_explain(query, match, text, sizeof text);
        return kernels_refuse(error, TUNED_NOT_FOUND, "%s", text);
    }
    return code == 0 ? 0
                     : kernels_refuse(error, (enum tuned_code)code,
                                      "the query has no kernel, an unknown limit or a bad value");
}

/* -- the application's own source ----------------------------------------------------------------
 */

static void make_options(const struct source *source, const struct tuned_definitions *definitions,
                         struct options *options)
{
    *options = (struct options){0};
    for (size_t i = 0; i < source->include_count; i++)
        *ARRAY_APPEND(options->items, options->count) =
            alloc_format("-I%s", source->include_folders[i]);
    for (size_t i = 0; i < definitions->count; i++)
        *ARRAY_APPEND(options->items, options->count) = alloc_string(definitions->items[i]);
}

static int compile_source(struct tuned_kernels *kernels, const char *path,
                          const struct tuned_definitions *definitions,
                          struct compilation *compilation, enum build_origin *origin,
                          struct error *error)
{
    struct source source;
    struct options options;
    char *folder = realpath(kernels->templates, NULL);
    const char *folders[] = {folder};
    int status = source_load(&source, path, folders, folder != NULL, error);
    if (status == 0) {
        make_options(&source, definitions, &options);
        status = builder_source_cubin(&kernels->builder, &source, &options,
                                      kernels->device.gpu.arch, compilation, origin, error);
        options_release(&options);
        source_release(&source);
    }
    free(folder);
    return status;
}

int tuned_module_get(struct tuned_kernels *kernels, const struct tuned_query *query,
                     const char *source, struct CUmod_st **module, struct tuned_match *match,
                     enum tuned_origin *origin, struct tuned_error *error)
{
    struct tuned_query asked = kernels_query(kernels, query);
    struct tuned_definitions definitions;
    struct tuned_match found;
    struct compilation compilation = {0};
    enum build_origin built = BUILD_CACHED;
    struct error inner;
    *module = NULL;
    int code = kernels_find(kernels, &asked, &found, error);
    if (code != 0)
        return code;
    if (tuned_define(kernels->table, &asked, &found, &definitions) != 0)
        return kernels_refuse(error, TUNED_INVALID, "a value of the problem is no word");
    (void)pthread_mutex_lock(&kernels->mutex);
    int status = compile_source(kernels, source, &definitions, &compilation, &built, &inner);
    if (status == 0)
        status = CUDA_CALL(&kernels->device, &inner, cuModuleLoadData, module, compilation.cubin);
    (void)pthread_mutex_unlock(&kernels->mutex);
    compilation_release(&compilation);
    if (status != 0)
        return kernels_fail(&inner, error);
    if (match != NULL)
        *match = found;
    if (origin != NULL)
        *origin = built == BUILD_COMPILED ? TUNED_FROM_COMPILER : TUNED_FROM_CACHE;
    return 0;
}
