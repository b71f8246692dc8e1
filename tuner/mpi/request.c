#include "mpi/request.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static const char *text_of(const json_t *request, const char *member)
{
    return json_string_value(json_object_get(request, member));
}

static bool does(const json_t *request, const char *command)
{
    const char *own = text_of(request, "do");
    return own != NULL && strcmp(own, command) == 0;
}

bool request_names_files(const json_t *request)
{
    return does(request, "open") || does(request, "load") || does(request, "trial");
}

static void add(const struct mirror *mirror, json_t *files, const char *path)
{
    if (path == NULL)
        return;
    char *absolute = mirror_absolute(mirror, path);
    json_array_append_new(files, json_string(absolute));
    free(absolute);
}

json_t *request_files(const struct mirror *mirror, const json_t *request)
{
    static const char *const members[] = {"support", "reference", "cubin"};
    json_t *files = json_array();
    size_t index;
    json_t *item;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        add(mirror, files, text_of(request, members[i]));
    json_array_foreach(json_object_get(request, "files"), index, item)
    {
        add(mirror, files, json_string_value(item));
    }
    return files;
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

void request_move(const struct mirror *mirror, json_t *request)
{
    static const char *const members[] = {"template", "support", "reference", "cubin"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        move_member(mirror, request, members[i]);
    json_object_del(request, "files");
}
