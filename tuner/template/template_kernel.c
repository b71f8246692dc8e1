#include "template/template_kernel.h"

#include "base/alloc.h"
#include "base/path.h"
#include "template/value_list.h"

#include <stdlib.h>
#include <string.h>

/* "a.cu, b.cu": the files of `source`, relative to the template's, or NAME.cu. */
static int read_source(struct loader *loader)
{
    struct template *template = loader->template;
    const struct ini_entry *source = loader_get(loader, "kernel", "source");
    const struct ini_entry *include = loader_get(loader, "kernel", "include");
    const struct ini_entry *depends = loader_get(loader, "kernel", "depends");
    char *usual = alloc_format("%s.cu", template->name);
    char **files = NULL;
    char **folders = NULL;
    char **headers = NULL;
    char **paths = NULL;
    size_t count = 0;
    size_t file_count = text_split(source != NULL ? source->value : usual, ',', &files);
    size_t folder_count = include != NULL ? text_split(include->value, ',', &folders) : 0;
    size_t header_count = depends != NULL ? text_split(depends->value, ',', &headers) : 0;
    for (size_t i = 0; i < file_count; i++)
        *ARRAY_APPEND(paths, count) = path_beside(template->path, files[i]);
    const struct source_files from = {.paths = (const char *const *)paths,
                                      .path_count = count,
                                      .folders = (const char *const *)folders,
                                      .folder_count = folder_count,
                                      .depends = (const char *const *)headers,
                                      .depend_count = header_count};
    int status = count > 0 ? source_load_files(&template->source, &from, loader->error)
                           : loader_fail(loader, source != NULL ? source->line : 0,
                                         "'%s' names no file", "source");
    text_split_release(paths, count);
    text_split_release(files, file_count);
    text_split_release(folders, folder_count);
    text_split_release(headers, header_count);
    free(usual);
    return status;
}

int loader_read_kernel(struct loader *loader)
{
    struct template *template = loader->template;
    const struct ini_entry *description = loader_get(loader, "kernel", "description");
    const struct ini_entry *cache = loader_get(loader, "kernel", "cache");
    template->description = description != NULL ? description->value : "";
    template->cold = cache == NULL || strcmp(cache->value, "warm") != 0;
    if (cache != NULL && template->cold && strcmp(cache->value, "cold") != 0)
        return loader_fail(loader, cache->line, "cache '%s' is neither cold nor warm",
                           cache->value);
    return read_source(loader);
}

int loader_take_entry(struct loader *loader, const struct launch *launch)
{
    struct template *template = loader->template;
    const char *entry = launch->entry;
    if (strlen(entry) >= ENTRY_BYTES)
        return loader_fail(loader, launch->lines.entry, "entry '%s' has more than 255 bytes",
                           entry);
    if (strpbrk(entry, "<:") == NULL)
        return 0;
    for (size_t i = 0; i < template->name_expression_count; i++)
        if (strcmp(template->name_expressions[i], entry) == 0)
            return 0;
    *ARRAY_APPEND(template->name_expressions, template->name_expression_count) = entry;
    return 0;
}
