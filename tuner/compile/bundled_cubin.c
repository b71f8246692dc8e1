#include "compile/bundled_cubin.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/read_file.h"
#include "base/write_file.h"

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
        if (strncmp(origin->options->items[i], "-I", 2) != 0)
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
                       char digits[HASH_BYTES])
{
    struct hash *hash = hash_new();
    hash_origin(hash, origin);
    hash_add(hash, cubin, bytes);
    hash_finish(hash, digits);
}

static char *hash_path(const char *path)
{
    return alloc_format("%s.hash", path);
}

int bundled_cubin_write(const char *path, const struct cubin_origin *origin,
                        const struct compilation *compilation, struct error *error)
{
    char digits[HASH_BYTES];
    char *beside = hash_path(path);
    hash_cubin(origin, compilation->cubin, compilation->cubin_bytes, digits);
    int status = write_file_bytes(path, compilation->cubin, compilation->cubin_bytes, error);
    if (status == 0)
        status = write_file_bytes(beside, digits, HASH_BYTES - 1, error);
    free(beside);
    return status;
}

int bundled_cubin_read(const char *path, const struct cubin_origin *origin, void **cubin,
                       size_t *cubin_bytes, struct error *error)
{
    char digits[HASH_BYTES];
    char *bytes = NULL;
    char *stated = NULL;
    char *beside = hash_path(path);
    *cubin = NULL;
    *cubin_bytes = 0;
    int status = read_file(path, &bytes, cubin_bytes, NULL);
    if (status == 0)
        status = read_file(beside, &stated, NULL, NULL);
    if (status != 0) {
        status = error_set(error, ERROR_RECORD, "the bundle lacks '%s' or its hash", path);
    } else {
        hash_cubin(origin, bytes, *cubin_bytes, digits);
        if (strcmp(stated, digits) == 0)
            *cubin = bytes;
        else
            status = error_set(error, ERROR_RECORD,
                               "'%s' is damaged, or was compiled from something else", path);
    }
    if (status != 0)
        free(bytes);
    free(stated);
    free(beside);
    return status;
}
