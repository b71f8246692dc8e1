/* Bytes that come and go: a queue in one piece of memory. Zeroed is empty. */
#ifndef AUTOTUNE_BYTES_H
#define AUTOTUNE_BYTES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct bytes {
    char *data;
    size_t used, capacity;
};

void bytes_release(struct bytes *bytes);
void bytes_append(struct bytes *bytes, const void *data, size_t count);

/* Where `count` more bytes can be put; add to `used` how many were. */
char *bytes_room(struct bytes *bytes, size_t count);

/* Removes the first `count`. */
void bytes_drop(struct bytes *bytes, size_t count);

/* The first message (base/channel.h): its line's length, with its end, and `*whole`, with the bytes behind it.
 * `*message` is a new reference, or NULL if the line is not one. False if it has not come completely. */
bool bytes_message(const struct bytes *bytes, json_t **message, size_t *line, size_t *whole);

#endif
