#include "base/path.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

char *path_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return alloc_string(".");
    return alloc_string_n(path, slash > path ? (size_t)(slash - path) : 1);
}

char *path_beside(const char *file, const char *path)
{
    if (path[0] == '/')
        return alloc_string(path);
    char *folder = path_folder(file);
    char *joined = alloc_format("%s/%s", folder, path);
    free(folder);
    return joined;
}
