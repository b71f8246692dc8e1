#include "mpi/request.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* What precedes a path in an element of an array. */
static const char unit_option[] = "--autotune-unit=";
static const char include_option[] = "-I";

static const char *text_of(const json_t *request, const char *member)
{
    return json_string_value(json_object_get(request, member));
}

static bool does(const json_t *request, const char *command)
{
    const char *own = text_of(request, "do");
    return own != NULL && strcmp(own, command) == 0;
}

static bool has_text(const json_t *request)
{
    return json_object_get(request, "text") != NULL;
}

/* How many characters precede the path in an option or a stamp; 0: there is none. */
static size_t path_offset(const char *text, bool stamps)
{
    size_t unit = strlen(unit_option);
    size_t include = strlen(include_option);
    if (stamps)
        return strlen(text) > HASH_BYTES ? HASH_BYTES : 0;
    return strncmp(text, unit_option, unit) == 0         ? unit
           : strncmp(text, include_option, include) == 0 ? include
                                                         : 0;
}

static void add(const struct mirror *mirror, json_t *files, const char *path)
{
    if (path == NULL)
        return;
    char *absolute = mirror_absolute(mirror, path);
    json_array_append_new(files, json_string(absolute));
    free(absolute);
}

/* A folder for headers, of which the links are needed. */
static void add_folder(const struct mirror *mirror, json_t *files, const char *option)
{
    size_t include = strlen(include_option);
    if (option == NULL || strncmp(option, include_option, include) != 0)
        return;
    char *folder = alloc_format("%s/", option + include);
    add(mirror, files, folder);
    free(folder);
}

json_t *request_files(const struct mirror *mirror, const json_t *request)
{
    static const char *const members[] = {"support", "reference", "cubin"};
    json_t *files = json_array();
    size_t index;
    json_t *item;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        add(mirror, files, text_of(request, members[i]));
    if (does(request, "count"))
        add(mirror, files, text_of(request, "output"));
    if (does(request, "compile") && !has_text(request))
        add(mirror, files, text_of(request, "name"));
    json_array_foreach(json_object_get(request, "files"), index, item)
    {
        add(mirror, files, json_string_value(item));
    }
    json_array_foreach(json_object_get(request, "options"), index, item)
    {
        add_folder(mirror, files, json_string_value(item));
    }
    json_array_foreach(json_object_get(request, "stamps"), index, item)
    {
        const char *text = json_string_value(item);
        if (text != NULL && path_offset(text, true) > 0)
            add(mirror, files, text + path_offset(text, true));
    }
    return files;
}

char *request_output(const struct mirror *mirror, const json_t *request)
{
    const char *path = text_of(request, "output");
    return path != NULL ? mirror_absolute(mirror, path) : NULL;
}

static void move_member(const struct mirror *mirror, json_t *request, const char *member)
{
    const char *path = text_of(request, member);
    if (path == NULL || path[0] != '/')
        return;
    char *here = mirror_path(mirror, path);
    json_object_set_new(request, member, json_string(here));
    free(here);
}

static void move_elements(const struct mirror *mirror, json_t *array, bool stamps)
{
    size_t index;
    json_t *item;
    json_array_foreach(array, index, item)
    {
        const char *text = json_string_value(item);
        size_t offset = text != NULL ? path_offset(text, stamps) : 0;
        if (offset == 0 || text[offset] != '/')
            continue;
        char *here = mirror_path(mirror, text + offset);
        char *moved = alloc_format("%.*s%s", (int)offset, text, here);
        json_array_set_new(array, index, json_string(moved));
        free(moved);
        free(here);
    }
}

void request_move(const struct mirror *mirror, json_t *request)
{
    static const char *const members[] = {"template", "support", "reference", "cubin", "output"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        move_member(mirror, request, members[i]);
    if (!has_text(request))
        move_member(mirror, request, "name");
    json_object_del(request, "files");
    if (does(request, "compile"))
        json_object_set_new(request, "root", json_string(mirror->root));
    move_elements(mirror, json_object_get(request, "stamps"), true);
    move_elements(mirror, json_object_get(request, "options"), false);
}
