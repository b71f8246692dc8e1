#include "template/source_file.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/read_file.h"

#include <limits.h>
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

char *source_stamp_new(const char *path, const char *text)
{
    char digits[HASH_BYTES];
    struct hash *hash = hash_new();
    hash_add_text(hash, text);
    hash_finish(hash, digits);
    return alloc_format("%s %s", digits, path);
}

int source_check(const char *const *stamps, size_t count, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++) {
        const char *path = stamps[i] + HASH_BYTES;
        char *text;
        status = read_file(path, &text, NULL, error);
        if (status != 0)
            break;
        char *stamp = source_stamp_new(path, text);
        if (strcmp(stamp, stamps[i]) != 0)
            status = error_set(error, ERROR_CONFIG,
                               "'%s' has changed since the run started; run again", path);
        free(stamp);
        free(text);
    }
    return status;
}
