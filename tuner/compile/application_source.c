#include "compile/application_source.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

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

static int compare_text(const void *a, const void *b)
{
    const char *const *left = a;
    const char *const *right = b;
    return strcmp(*left, *right);
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
