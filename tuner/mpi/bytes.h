/* Bytes that come and go: a queue. Zeroed is empty. */
#ifndef AUTOTUNE_BYTES_H
#define AUTOTUNE_BYTES_H

#include <stdbool.h>
#include <stddef.h>

struct bytes {
    char *data; /* from `start` on */
    size_t start, count, capacity;
};

void bytes_release(struct bytes *bytes);
void bytes_append(struct bytes *bytes, const void *data, size_t count);

/* Removes the first `count` bytes. They can still be read until something is appended. */
void bytes_drop(struct bytes *bytes, size_t count);

/* Writes what a socket takes without waiting; returns whether it took anything. If nobody reads it any more,
 * drops all. */
bool bytes_write(struct bytes *bytes, int socket);

#endif
