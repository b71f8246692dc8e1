#include "mpi/bytes.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

void bytes_release(struct bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct bytes){0};
}

char *bytes_room(struct bytes *bytes, size_t count)
{
    if (bytes->used + count > bytes->capacity) {
        bytes->capacity = 2 * bytes->used + count;
        bytes->data = alloc_resize(bytes->data, bytes->capacity, 1);
    }
    return bytes->data + bytes->used;
}

void bytes_append(struct bytes *bytes, const void *data, size_t count)
{
    if (count == 0)
        return;
    memcpy(bytes_room(bytes, count), data, count);
    bytes->used += count;
}

void bytes_drop(struct bytes *bytes, size_t count)
{
    bytes->used -= count;
    if (bytes->used > 0)
        memmove(bytes->data, bytes->data + count, bytes->used);
}

bool bytes_message(const struct bytes *bytes, json_t **message, size_t *line, size_t *whole)
{
    const char *end = bytes->used > 0 ? memchr(bytes->data, '\n', bytes->used) : NULL;
    *message = NULL;
    if (end == NULL)
        return false;
    *line = *whole = (size_t)(end + 1 - bytes->data);
    *message = json_loadb(bytes->data, *line, 0, NULL);
    json_int_t count = json_integer_value(json_object_get(*message, "bytes"));
    *whole += count > 0 ? (size_t)count : 0;
    if (json_is_object(*message) && *whole <= bytes->used)
        return true;
    bool object = json_is_object(*message);
    json_decref(*message);
    *message = NULL;
    if (!object)
        *whole = *line;
    return !object;
}
