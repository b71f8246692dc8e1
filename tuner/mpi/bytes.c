#include "mpi/bytes.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

void bytes_release(struct bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct bytes){0};
}

void bytes_append(struct bytes *bytes, const void *data, size_t count)
{
    if (count == 0)
        return;
    if (bytes->start + bytes->count + count > bytes->capacity) {
        struct bytes longer = {.count = bytes->count, .capacity = 2 * (bytes->count + count)};
        longer.data = alloc_resize(NULL, longer.capacity, 1);
        if (bytes->count > 0)
            memcpy(longer.data, bytes->data + bytes->start, bytes->count);
        free(bytes->data);
        *bytes = longer;
    }
    memcpy(bytes->data + bytes->start + bytes->count, data, count);
    bytes->count += count;
}

void bytes_drop(struct bytes *bytes, size_t count)
{
    bytes->count -= count;
    bytes->start = bytes->count > 0 ? bytes->start + count : 0;
}

bool bytes_write(struct bytes *bytes, int socket)
{
    if (bytes->count == 0)
        return false;
    ssize_t sent =
        send(socket, bytes->data + bytes->start, bytes->count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        bytes_drop(bytes, bytes->count);
    if (sent > 0)
        bytes_drop(bytes, (size_t)sent);
    return sent > 0;
}
