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
    return does(request, "open");
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
    json_t *files = json_array();
    size_t index;
    json_t *item;
    json_array_foreach(json_object_get(request, "files"), index, item)
    {
        add(mirror, files, json_string_value(item));
    }
    return files;
}

void request_move(const struct mirror *mirror, json_t *request)
{
    const char *path = text_of(request, "template");
    if (path != NULL && path[0] == '/') {
        char *here = mirror_path(mirror, path);
        json_object_set_new(request, "template", json_string(here));
        free(here);
    }
    json_object_del(request, "files");
}
