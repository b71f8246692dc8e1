/* The files that an agent has asked for, sent one after the other, piece by piece: PACKET_FILE, any
 * number of PACKET_FILE_BYTES, PACKET_FILE_END. */
#ifndef AUTOTUNE_FILE_SOURCE_H
#define AUTOTUNE_FILE_SOURCE_H

#include "mpi/peers.h"

#include <stddef.h>

struct file_source;

/* Adds a file to the queue `*files`, which is empty if it is NULL. `path` is absolute. */
void file_source_add(struct file_source **files, const char *path, size_t length);

/* Sends the next piece. The queue must not be empty. */
void file_source_send(struct file_source **files, struct peers *peers, int rank);

void file_source_free(struct file_source **files);

#endif
