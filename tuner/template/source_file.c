#include "template/source_file.h"

#include "base/alloc.h"
#include "base/path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *source_find_file(const char *folder, const char *name)
{
    struct stat information;
    char *joined = name[0] == '/' ? alloc_string(name) : alloc_format("%s/%s", folder, name);
    char *path = NULL;
    if (stat(joined, &information) == 0 && !S_ISDIR(information.st_mode)) {
        char *own = path_folder(joined);
        char *real = realpath(own, NULL);
        const char *file = strrchr(joined, '/') + 1;
        if (real != NULL)
            path = alloc_format("%s/%s", strcmp(real, "/") == 0 ? "" : real, file);
        free(real);
        free(own);
    }
    free(joined);
    return path;
}
