#include "base/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX ((size_t)64 << 20)

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

int read_stream(FILE *file, size_t most, char **text, size_t *length)
{
    int number = 0;
    *text = NULL;
    *length = 0;
    for (size_t room = (size_t)64 << 10; number == 0; room *= 2) {
        char *larger = realloc(*text, room + 1);
        if (larger == NULL) {
            number = ENOMEM;
            break;
        }
        *text = larger;
        *length += fread(larger + *length, 1, room - *length, file);
        larger[*length] = '\0';
        number = ferror(file) != 0 ? errno : *length > most ? EFBIG : 0;
        if (number == 0 && *length < room)
            return 0;
    }
    free(*text);
    *text = NULL;
    return number;
}

int read_file(const char *path, char **text, size_t *length, struct error *error)
{
    size_t count = 0;
    *text = NULL;
    FILE *file = open_regular(path);
    if (file == NULL)
        return error_set_errno(error, ERROR_CONFIG, "cannot open '%s'", path);
    int number = read_stream(file, FILE_BYTES_MAX, text, &count);
    (void)fclose(file); /* cannot lose data: the file was only read */
    if (number != 0)
        return error_set(error, ERROR_CONFIG, "cannot read '%s': %s", path, error_reason(number));
    if (length != NULL)
        *length = count;
    return 0;
}
