#include "base/read_file.h"

#include "base/alloc.h"
#include "base/open_regular.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_BYTES_MAX ((size_t)64 << 20)

/* Reads to the end of `file`. Returns NULL with errno set if that fails; EFBIG: too large. */
static char *read_all(FILE *file, size_t *length)
{
    size_t capacity = (size_t)64 << 10;
    size_t used = 0;
    char *text = alloc_resize(NULL, capacity, 1);
    for (;;) {
        used += fread(text + used, 1, capacity - used - 1, file);
        if (ferror(file) != 0)
            break;
        if (used > FILE_BYTES_MAX) {
            errno = EFBIG;
            break;
        }
        if (feof(file) != 0) {
            text[used] = '\0';
            *length = used;
            return text;
        }
        if (used + 1 == capacity) {
            capacity *= 2;
            text = alloc_resize(text, capacity, 1);
        }
    }
    int number = errno;
    free(text);
    errno = number;
    return NULL;
}

int read_file(const char *path, char **text, size_t *length, struct error *error)
{
    *text = NULL;
    FILE *file = open_regular(path);
    if (file == NULL)
        return error_set_errno(error, ERROR_CONFIG, "cannot open '%s'", path);
    size_t count = 0;
    *text = read_all(file, &count);
    int status = 0;
    if (*text == NULL)
        status = error_set_errno(error, ERROR_CONFIG, "cannot read '%s'", path);
    else if (length != NULL)
        *length = count;
    (void)fclose(file); /* cannot lose data: the file was only read */
    return status;
}
