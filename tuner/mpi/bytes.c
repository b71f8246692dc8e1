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

void bytes_append_object(struct bytes *bytes, json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT);
    if (text != NULL)
        bytes_append(bytes, text, strlen(text));
    free(text);
    json_decref(object);
}

void bytes_append_line(struct bytes *bytes, json_t *object)
{
    bytes_append_object(bytes, object);
    bytes_append(bytes, "\n", 1);
}

void bytes_drop(struct bytes *bytes, size_t count)
{
    bytes->used -= count;
    if (bytes->used > 0)
        memmove(bytes->data, bytes->data + count, bytes->used);
}

bool bytes_line(const struct bytes *bytes, size_t *length)
{
    const char *end = bytes->used > 0 ? memchr(bytes->data, '\n', bytes->used) : NULL;
    *length = end != NULL ? (size_t)(end + 1 - bytes->data) : 0;
    return end != NULL;
}
