/* A file that comes in packets: PACKET_FILE, any number of PACKET_FILE_BYTES, PACKET_FILE_END. It
 * appears when it is complete. */
#ifndef AUTOTUNE_FILE_ARRIVAL_H
#define AUTOTUNE_FILE_ARRIVAL_H

#include "base/error.h"
#include "base/write_file.h"

#include <stdbool.h>
#include <stddef.h>

/* Zeroed: none is coming. */
struct file_arrival {
    struct write_file file;
    bool open;
    struct error error; /* code 0: none */
};

/* A failure shows at the end. */
void file_arrival_begin(struct file_arrival *arrival, const char *path);
void file_arrival_add(struct file_arrival *arrival, const void *bytes, size_t count);

/* Returns 0 or ERROR_RECORD; if it is not `good`, or none has begun, there is no file. */
int file_arrival_end(struct file_arrival *arrival, bool good, struct error *error);

void file_arrival_abandon(struct file_arrival *arrival);

#endif
