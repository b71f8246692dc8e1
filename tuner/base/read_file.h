/* Reads a whole file into memory. */
#ifndef AUTOTUNE_READ_FILE_H
#define AUTOTUNE_READ_FILE_H

#include "base/error.h"

#include <stddef.h>

/*
 * Reads a regular file of at most 64 MiB into a new null-terminated string; `length` may be NULL.
 * Returns 0, or ERROR_CONFIG with the file's name in the message and `*text` set to NULL.
 */
int read_file(const char *path, char **text, size_t *length, struct error *error);

#endif
