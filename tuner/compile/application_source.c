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

/* `definition` is "-DNAME=VALUE". */
static int check_definition(const struct source *source, const char *definition,
                            struct error *error)
{
    const char *macro = definition + strlen("-D");
    size_t length = strcspn(macro, "=");
    char *name = alloc_string_n(macro, length);
    const struct computed_name *found =
        source_unfollowed(source, name, macro[length] == '=' ? macro + length + 1 : NULL);
    int status = 0;
    if (found != NULL)
        status = error_set_at(error, ERROR_CONFIG, found->path, found->line,
                              "'%s' decides which file an #include of a macro reads; write an "
                              "#include for each of its values, in branches of an #if",
                              name);
    free(name);
    return status;
}

int application_source_options(const struct source *source, const char *const *definitions,
                               size_t count, struct options *options, struct error *error)
{
    int status = 0;
    *options = (struct options){0};
    for (size_t i = 0; i < source->include_count; i++)
        *ARRAY_APPEND(options->items, options->count) =
            alloc_format("-I%s", source->include_folders[i]);
    options_add_headers(options, source);
    for (size_t i = 0; i < count; i++)
        *ARRAY_APPEND(options->items, options->count) = alloc_string(definitions[i]);
    for (size_t i = 0; i < count && status == 0; i++)
        status = check_definition(source, definitions[i], error);
    return status;
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
