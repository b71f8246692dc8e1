#include "kernels.h"

#include "base/alloc.h"
#include "compile/application.h"
#include "template/template_load.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int kernels_fail(const struct error *inner, int stated, struct tuned_error *error)
{
    int code = stated != 0                   ? stated
               : inner->code == ERROR_CONFIG ? TUNED_BAD_FILE
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
    return status != 0 ? kernels_fail(&inner, 0, error) : 0;
}

/* The defaults of templates that are not a bundle's, for values that a query leaves out: what is not given has
 * them in the kernel, so the configuration must be of them, too. */
static int add_defaults(struct tuned_kernels *kernels, struct tuned_error *error)
{
    const struct tuned_configuration *configuration;
    const char *last = "";
    int code = 0;
    for (size_t i = 0; (configuration = tuned_at(kernels->table, i)) != NULL && code == 0; i++) {
        const char *name = configuration->template_name;
        char *path = alloc_format("%s/%s.ini", kernels->templates, name);
        if (strcmp(name, last) != 0 && access(path, F_OK) == 0)
            code = tuned_add_template(kernels->table, path, error);
        last = name;
        free(path);
    }
    return code;
}

int tuned_kernels_open(struct tuned_kernels **kernels, const char *path, const char *templates,
                       struct tuned_error *error)
{
    struct tuned_kernels *new = alloc_zeroed(1, sizeof *new);
    *kernels = NULL;
    (void)pthread_mutex_init(&new->mutex, NULL); /* cannot fail without attributes */
    int code = tuned_load(&new->table, path, error);
    if (code == 0 && templates == NULL && !is_folder(path))
        code = kernels_refuse(error, TUNED_INVALID,
                              "'%s' is a tuned INI, not a bundle; pass the folder of its templates",
                              path);
    if (code == 0)
        new->templates =
            templates != NULL ? alloc_string(templates) : alloc_format("%s/templates", path);
    if (code == 0 && templates != NULL)
        code = add_defaults(new, error);
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
    application_compiler_release(&kernels->compiler);
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

/* The template that `kernel`'s configurations name, or else the template of the same name. */
static const char *template_name(const struct tuned_kernels *kernels, const char *kernel)
{
    const struct tuned_configuration *configuration;
    for (size_t i = 0; (configuration = tuned_at(kernels->table, i)) != NULL; i++)
        if (strcmp(configuration->kernel, kernel) == 0)
            return configuration->template_name;
    return kernel;
}

/* A name that is safe in a path. */
static bool is_plain(const char *name)
{
    return name[0] != '\0' && name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

static int load_template(struct tuned_kernels *kernels, const char *name,
                         const struct template **found, struct error *error)
{
    for (size_t i = 0; i < kernels->loaded_count; i++)
        if (strcmp(kernels->loaded[i]->name, name) == 0) {
            *found = kernels->loaded[i];
            return 0;
        }
    if (!is_plain(name))
        return error_set(error, ERROR_USAGE, "'%s' is not a valid kernel name", name);
    struct template *template = alloc_zeroed(1, sizeof *template);
    char *path = alloc_format("%s/%s.ini", kernels->templates, name);
    int status = template_load(template, path, error);
    free(path);
    if (status != 0) {
        free(template);
        return status;
    }
    *ARRAY_APPEND(kernels->loaded, kernels->loaded_count) = template;
    *found = template;
    return 0;
}

int kernels_find(struct tuned_kernels *kernels, struct tuned_query *query,
                 const struct template **template, struct tuned_match *match,
                 struct tuned_error *error)
{
    char text[512];
    struct error inner;
    if (query->kernel == NULL)
        return kernels_refuse(error, TUNED_INVALID, "the query has no kernel");
    if (load_template(kernels, template_name(kernels, query->kernel), template, &inner) != 0)
        return kernels_fail(&inner, 0, error);
    if (query->template_hash == NULL)
        query->template_hash = (*template)->hash;
    int code = tuned_find(kernels->table, query, match);
    if (code == TUNED_NOT_FOUND) {
        (void)tuned_explain(query, match, text, sizeof text);
        return kernels_refuse(error, TUNED_NOT_FOUND, "%s", text);
    }
    return code == 0 ? 0
                     : kernels_refuse(error, (enum tuned_code)code,
                                      "the query has an unknown limit or a bad value");
}

int kernels_load(struct tuned_kernels *kernels, const char *path, const struct cubin_origin *binary,
                 const struct tuned_match *match, struct CUmod_st **module,
                 struct compilation *compilation, enum tuned_origin *origin, int *code,
                 struct error *error)
{
    const char *tuned_with =
        match->from != NULL && match->from->nvrtc != NULL ? match->from->nvrtc : "";
    struct device_context *device = &kernels->device;
    struct error reason;
    bool compiled = false;
    (void)error_set(&reason, ERROR_RECORD, "the bundle has no binary for this GPU");
    *origin = TUNED_FROM_BUNDLE;
    if (path != NULL && bundled_cubin_read(path, binary, compilation, &reason) == 0 &&
        CUDA_CALL(device, &reason, cuModuleLoadData, module, compilation->cubin) == 0)
        return 0;
    compilation_release(compilation);
    *module = NULL;
    int status =
        application_compile_source(&kernels->compiler, binary->source, binary->options,
                                   device->gpu.arch, tuned_with, compilation, &compiled, error);
    *origin = compiled ? TUNED_FROM_COMPILER : TUNED_FROM_CACHE;
    if (status == 0)
        return CUDA_CALL(device, error, cuModuleLoadData, module, compilation->cubin);
    struct error compiling = *error;
    (void)snprintf(error->message, sizeof error->message, "%.700s; compiling failed: %.700s",
                   reason.message, compiling.message);
    *code = TUNED_COMPILER;
    return status;
}

/* --- the application's own source --- */

/* What one tuned_module_get() needs. */
struct request {
    struct tuned_kernels *kernels;
    struct tuned_query query;
    struct tuned_match match;
    struct tuned_definitions definitions;
    struct source source;
};

/* From the bundle, or compiled. */
static int load_module(const struct request *request, struct CUmod_st **module,
                       enum tuned_origin *origin, int *code, struct error *error)
{
    const struct tuned_configuration *from = request->match.from;
    const struct tuned_definitions *definitions = &request->definitions;
    char path[4096];
    char *own = NULL;
    struct options options;
    struct compilation compilation = {0};
    if (tuned_cubin_path(request->kernels->table, &request->query, &request->match, path,
                         sizeof path) == 0)
        own = application_source_binary(&request->source, definitions->items, definitions->count,
                                        path);
    application_source_options(&request->source, definitions->items, definitions->count, &options);
    const struct cubin_origin binary = {&request->source, &options,
                                        from != NULL ? from->gpu->compute_capability : 0};
    int status = kernels_load(request->kernels, own, &binary, &request->match, module, &compilation,
                              origin, code, error);
    compilation_release(&compilation);
    options_release(&options);
    free(own);
    return status;
}

/* Returns a code, with the details in `error`. */
static int get_module(struct request *request, const char *path, struct CUmod_st **module,
                      enum tuned_origin *origin, struct tuned_error *error)
{
    struct tuned_kernels *kernels = request->kernels;
    const struct template *template = NULL;
    struct error inner;
    int code = kernels_find(kernels, &request->query, &template, &request->match, error);
    if (code != 0)
        return code;
    if (tuned_define(kernels->table, &request->query, &request->match, &request->definitions) != 0)
        return kernels_refuse(error, TUNED_INVALID, "a value of the problem is not a word");
    int status = application_source_load(&request->source, path, kernels->templates, &inner);
    if (status != 0)
        return kernels_fail(&inner, 0, error);
    status = load_module(request, module, origin, &code, &inner);
    source_release(&request->source);
    return status != 0 ? kernels_fail(&inner, code, error) : 0;
}

int tuned_module_get(struct tuned_kernels *kernels, const struct tuned_query *query,
                     const char *source, struct CUmod_st **module, struct tuned_match *match,
                     enum tuned_origin *origin, struct tuned_error *error)
{
    struct request request = {.kernels = kernels, .query = kernels_query(kernels, query)};
    enum tuned_origin from = TUNED_FROM_BUNDLE;
    *module = NULL;
    (void)pthread_mutex_lock(&kernels->mutex);
    int code = get_module(&request, source, module, &from, error);
    (void)pthread_mutex_unlock(&kernels->mutex);
    if (code != 0)
        return code;
    if (match != NULL)
        *match = request.match;
    if (origin != NULL)
        *origin = from;
    return 0;
}
