#include "template/template_files.h"

#include "base/alloc.h"
#include "base/path.h"

#include <stdlib.h>

static void add(json_t *list, const char *path)
{
    json_array_append_new(list, json_string(path));
}

static void add_fill(json_t *list, const struct fill *fill)
{
    if (fill->kind == FILL_FILE)
        add(list, fill->path);
}

static void add_folder(json_t *list, const char *path)
{
    char *folder = alloc_format("%s/", path);
    add(list, folder);
    free(folder);
}

static void add_source(json_t *list, const struct source *source)
{
    add(list, source->path);
    for (size_t i = 0; i < source->header_count; i++)
        add(list, source->headers[i]);
    for (size_t i = 0; i < source->include_count; i++)
        add_folder(list, source->include_folders[i]);
}

json_t *template_files(const struct template *template)
{
    json_t *list = json_array();
    char *folder = path_folder(template->path);
    add(list, template->path);
    add_folder(list, folder);
    free(folder);
    add_source(list, &template->source);
    for (size_t i = 0; i < template->buffer_count; i++)
        add_fill(list, &template->buffers[i].fill);
    for (size_t i = 0; i < template->expectation_count; i++)
        add_fill(list, &template->expectations[i].fill);
    return list;
}
