#include "compile/bundled_cubin.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/read_file.h"
#include "base/write_file.h"
#include "template/compiler_option.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_text(const void *a, const void *b)
{
    const char *const *left = a;
    const char *const *right = b;
    return strcmp(*left, *right);
}

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
        char *longer = alloc_format("%s\n%s %s", lines, kernel->symbol, kernel->entry);
        free(lines);
        lines = longer;
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
