#include "base/open_regular.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool may_wait(const struct stat *information)
{
    return !S_ISREG(information->st_mode) && !S_ISDIR(information->st_mode);
}

bool open_regular_refuses(const char *path)
{
    struct stat information;
    return stat(path, &information) == 0 && may_wait(&information);
}

FILE *open_regular(const char *path)
{
    struct stat information;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0)
        return NULL;
    if (fstat(descriptor, &information) == 0 && may_wait(&information)) {
        (void)close(descriptor);
        errno = EINVAL;
        return NULL;
    }
    FILE *file = fdopen(descriptor, "rb");
    if (file == NULL)
        (void)close(descriptor);
    return file;
}
