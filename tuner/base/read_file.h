/* Whole files into memory. */
#ifndef AUTOTUNE_READ_FILE_H
#define AUTOTUNE_READ_FILE_H

#include "base/error.h"

#include <stddef.h>

/*
 * Reads a regular file of at most 64 MiB into a new zero-terminated string; `length` may be NULL.
 * Returns 0, or ERROR_CONFIG naming the file, with `*text` NULL.
 */
int read_file(const char *path, char **text, size_t *length, struct error *error);

#endif
