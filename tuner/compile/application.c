#include "compile/application.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/read_file.h"
#include "base/write_file.h"
#include "compile/cubin_cache.h"
#include "compile/nvrtc.h"
#include "compile/source_copy.h"
#include "template/compiler_option.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int compare_text(const void *a, const void *b)
{
    const char *const *left = a;
    const char *const *right = b;
    return strcmp(*left, *right);
}

/* --- compiling --- */

static char *cache_path(const char *cache, const struct source *source,
                        const struct options *options, const char *arch, const char *build)
{
    char key[HASH_BYTES];
    char *folder = cache != NULL ? alloc_string(cache) : cubin_cache_default_folder();
    cubin_cache_key(source->text_hash, (const char *const *)options->items, options->count, arch,
                    build, key);
    char *path = cubin_cache_path(folder, key);
    free(folder);
    return path;
}

/* Returns false if it is missing, damaged or has no cubin. */
static bool read_cached(const char *path, struct compilation *compilation)
{
    if (!cubin_cache_read(path, true, compilation))
        return false;
    if (compilation->cubin != NULL)
        return true;
    compilation_release(compilation);
    return false;
}

bool application_cached(const char *cache, const struct source *source,
                        const struct options *options, const char *arch, const char *build,
                        struct compilation *compilation)
{
    char *path = cache_path(cache, source, options, arch, build);
    bool cached = read_cached(path, compilation);
    free(path);
    return cached;
}

/* --- sources without their host code --- */

/* Compiles from copies of the files in a new folder, since the files themselves have the host's code, too. */
static int compile_copies(struct nvrtc *nvrtc, const struct source *source,
                          const struct nvrtc_job *job, struct compilation *compilation,
                          struct error *error)
{
    const char *temporary = getenv("TMPDIR");
    char *folder = alloc_format("%s/autotune-XXXXXX",
                                temporary != NULL && temporary[0] == '/' ? temporary : "/tmp");
    const char **names = NULL;
    size_t count = 0;
    int status = mkdtemp(folder) != NULL
                     ? 0
                     : error_set_errno(error, ERROR_RECORD, "cannot create '%s'", folder);
    for (size_t i = 1; i < source->file_count && status == 0; i++)
        status = source_copy_file(folder, source->files[i].path, source->files[i].text,
                                  source->files[i].bytes, error);
    for (size_t i = 0; i < source->way_count && status == 0; i++) {
        const struct source_way *way = &source->ways[i];
        status = source_copy_way(folder, way->kind, way->path,
                                 way->target != NULL ? way->target : "", error);
        if (way->kind == SOURCE_WAY_NAME)
            *ARRAY_APPEND(names, count) = way->path;
    }
    nvrtc_set_root(nvrtc, folder, names, count);
    if (status == 0)
        status = nvrtc_compile(nvrtc, job, compilation, error);
    nvrtc_set_root(nvrtc, "", NULL, 0);
    write_file_remove_folder(folder);
    free(names);
    free(folder);
    return status;
}

int application_compile_source(struct application_compiler *compiler, const struct source *source,
                               const struct options *options, const char *arch,
                               const char *tuned_with, struct compilation *compilation,
                               bool *compiled, struct error *error)
{
    *compilation = (struct compilation){0};
    *compiled = false;
    char *build = alloc_format("any for %s", tuned_with);
    char *any = cache_path(compiler->cache, source, options, arch, build);
    char *own = NULL; /* of this NVRTC, which the others do not need */
    /* what no tuning is of, no later one renews */
    bool cached = tuned_with[0] != '\0' && (application_cached(compiler->cache, source, options,
                                                               arch, tuned_with, compilation) ||
                                            read_cached(any, compilation));
    int status = 0;
    if (!cached && compiler->nvrtc == NULL)
        status = nvrtc_open(&compiler->nvrtc, compiler->cache, error);
    if (!cached && status == 0) {
        own = cache_path(compiler->cache, source, options, arch, nvrtc_build(compiler->nvrtc));
        *compiled = !read_cached(own, compilation);
    }
    const struct nvrtc_job job = {.name = source->files[0].path,
                                  .text = source->files[0].text,
                                  .arch = arch,
                                  .options = (const char *const *)options->items,
                                  .option_count = options->count};
    if (*compiled)
        status = source->root_count > 0
                     ? compile_copies(compiler->nvrtc, source, &job, compilation, error)
                     : nvrtc_compile(compiler->nvrtc, &job, compilation, error);
    if (status == 0 && *compiled) /* from the headers as they are now */
        status = source_check(source, error);
    if (status == 0 && compilation->cubin == NULL)
        status = build_refused(source, compilation, error);
    if (status == 0 && !cached) {
        if (tuned_with[0] != '\0')
            (void)cubin_cache_write(any, compilation, NULL);
        if (nvrtc_stands(compiler->nvrtc))
            (void)cubin_cache_write(own, compilation, NULL);
    }
    free(build);
    free(any);
    free(own);
    return status;
}

void application_compiler_release(struct application_compiler *compiler)
{
    if (compiler->nvrtc != NULL)
        nvrtc_close(compiler->nvrtc);
    free(compiler->cache);
    *compiler = (struct application_compiler){0};
}

/* --- its own sources --- */

int application_source_load(struct source *source, const char *path, const char *templates,
                            struct error *error)
{
    char *folder = realpath(templates, NULL); /* else relative to the source */
    const char *folders[] = {folder};
    int status = source_load(source, path, folders, folder != NULL, error);
    free(folder);
    return status;
}

void application_source_options(const struct source *source, const char *const *definitions,
                                size_t count, struct options *options)
{
    *options = (struct options){0};
    for (size_t i = 0; i < source->include_count; i++)
        *ARRAY_APPEND(options->items, options->count) =
            alloc_format("-I%s", source->include_folders[i]);
    options_add_headers(options, source);
    for (size_t i = 0; i < count; i++)
        *ARRAY_APPEND(options->items, options->count) = alloc_string(definitions[i]);
}

char *application_source_binary(const struct source *source, const char *const *definitions,
                                size_t count, const char *configuration_cubin)
{
    static const char suffix[] = ".cubin";
    char digits[HASH_BYTES];
    size_t stem = strlen(configuration_cubin) - strlen(suffix);
    const char **sorted = alloc_zeroed(count, sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = definitions[i];
    qsort(sorted, count, sizeof *sorted, compare_text);
    struct hash *hash = hash_new();
    hash_add_text(hash, source->hash);
    for (size_t i = 0; i < count; i++)
        hash_add_text(hash, sorted[i]);
    hash_finish(hash, digits);
    free(sorted);
    return alloc_format("%.*s-%s%s", (int)stem, configuration_cubin, digits, suffix);
}

/* --- cubins in a bundle --- */

static void hash_origin(struct hash *hash, const struct cubin_origin *origin)
{
    char arch[32];
    const char **sorted = NULL;
    size_t count = 0;
    for (size_t i = 0; i < origin->options->count; i++)
        if (strncmp(origin->options->items[i], "-I", 2) != 0 &&
            compiler_option_value(origin->options->items[i], COMPILER_OPTION_UNIT) == NULL)
            *ARRAY_APPEND(sorted, count) = origin->options->items[i];
    if (count > 0)
        qsort(sorted, count, sizeof *sorted, compare_text);
    (void)snprintf(arch, sizeof arch, "sm_%d", origin->compute_capability);
    hash_add_text(hash, origin->source->hash);
    hash_add_text(hash, arch);
    for (size_t i = 0; i < count; i++)
        hash_add_text(hash, sorted[i]);
    free(sorted);
}

static void hash_cubin(const struct cubin_origin *origin, const void *cubin, size_t bytes,
                       const char *symbols, char digits[HASH_BYTES])
{
    struct hash *hash = hash_new();
    hash_origin(hash, origin);
    hash_add(hash, cubin, bytes);
    if (symbols[0] != '\0')
        hash_add_text(hash, symbols);
    hash_finish(hash, digits);
}

static char *hash_path(const char *path)
{
    return alloc_format("%s.hash", path);
}

/* A line "\nSYMBOL ENTRY" for each kernel with a C++ name; a new string. */
static char *symbol_lines(const struct compilation *compilation)
{
    char *lines = alloc_string("");
    for (size_t i = 0; i < compilation->kernel_count; i++) {
        const struct compiled_kernel *kernel = &compilation->kernels[i];
        if (kernel->symbol == NULL)
            continue;
        alloc_append(&lines, "\n%s %s", kernel->symbol, kernel->entry);
    }
    return lines;
}

static void read_symbol_lines(char *lines, struct compilation *compilation)
{
    char *rest = NULL;
    for (char *line = strtok_r(lines, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *entry = strchr(line, ' ');
        if (entry == NULL)
            continue;
        struct compiled_kernel *kernel =
            ARRAY_APPEND(compilation->kernels, compilation->kernel_count);
        kernel->symbol = alloc_string_n(line, (size_t)(entry - line));
        kernel->entry = alloc_string(entry + 1);
    }
}

int bundled_cubin_write(const char *path, const struct cubin_origin *origin,
                        const struct compilation *compilation, struct error *error)
{
    char digits[HASH_BYTES];
    char *beside = hash_path(path);
    char *symbols = symbol_lines(compilation);
    hash_cubin(origin, compilation->cubin, compilation->cubin_bytes, symbols, digits);
    char *stated = alloc_format("%s%s", digits, symbols);
    int status = write_file_bytes(path, compilation->cubin, compilation->cubin_bytes, error);
    if (status == 0)
        status = write_file_bytes(beside, stated, strlen(stated), error);
    free(stated);
    free(symbols);
    free(beside);
    return status;
}

/* Takes `stated`, what is in the file beside the cubin; false if the hash is another. */
static bool check_cubin(const struct cubin_origin *origin, char *stated,
                        struct compilation *compilation)
{
    char digits[HASH_BYTES];
    char *symbols = stated + strcspn(stated, "\n");
    hash_cubin(origin, compilation->cubin, compilation->cubin_bytes, symbols, digits);
    bool good = symbols - stated == HASH_BYTES - 1 && strncmp(stated, digits, HASH_BYTES - 1) == 0;
    if (good)
        read_symbol_lines(symbols, compilation);
    return good;
}

int bundled_cubin_read(const char *path, const struct cubin_origin *origin,
                       struct compilation *compilation, struct error *error)
{
    char *bytes = NULL;
    char *stated = NULL;
    char *beside = hash_path(path);
    *compilation = (struct compilation){0};
    int status = read_file(path, &bytes, &compilation->cubin_bytes, NULL);
    compilation->cubin = bytes;
    if (status == 0)
        status = read_file(beside, &stated, NULL, NULL);
    if (status != 0)
        status = error_set(error, ERROR_RECORD, "the bundle lacks '%s' or its hash", path);
    else if (!check_cubin(origin, stated, compilation))
        status = error_set(error, ERROR_RECORD,
                           "'%s' is damaged, or was compiled from something else", path);
    if (status != 0)
        compilation_release(compilation);
    free(stated);
    free(beside);
    return status;
}
