#include "template/output_path.h"

#include "base/alloc.h"
#include "base/path.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The real path of `path`; if it does not exist, the real path of the part that does, and the rest.
 * Free it. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the path at most */
static char *real_path(const char *path)
{
    char *real = realpath(path, NULL);
    if (real != NULL || strcmp(path, "/") == 0 || strcmp(path, ".") == 0)
        return real != NULL ? real : alloc_string(path);
    char *folder = path_folder(path);
    char *real_folder = real_path(folder);
    const char *slash = strrchr(path, '/');
    real = alloc_format("%s/%s", real_folder, slash != NULL ? slash + 1 : path);
    free(real_folder);
    free(folder);
    return real;
}

/* `real` is a real path, but the part of it that does not exist may have a "..". */
static bool is_below(const char *real, const char *folder)
{
    size_t length = strlen(folder);
    size_t real_length = strlen(real);
    return strncmp(real, folder, length) == 0 &&
           (real[length] == '/' || real[length] == '\0' || folder[length - 1] == '/') &&
           strstr(real, "/../") == NULL &&
           (real_length < 3 || strcmp(real + real_length - 3, "/..") != 0);
}

int output_path_check(const char *path, const char *key, const char *sweep, struct error *error)
{
    char *here = real_path(".");
    char *real = real_path(path);
    int status = 0;
    if (!is_below(real, here))
        status = error_set_at(error, ERROR_CONFIG, sweep, 0,
                              "'%s = %s' is outside the current folder '%s'; to write there, add "
                              "--%s %s",
                              key, path, here, key, path);
    free(real);
    free(here);
    return status;
}
